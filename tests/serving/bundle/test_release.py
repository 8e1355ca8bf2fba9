"""Trial, release, rollback: what the configuration says after each."""

import os

import pytest

from keras_albert.serving.bundle.config import CONFIG_FILE
from keras_albert.serving.bundle.config import Release
from keras_albert.serving.bundle.config import read_releases
from keras_albert.serving.bundle.config import write_releases
from keras_albert.serving.bundle.release import changed
from keras_albert.serving.bundle.release import release


@pytest.fixture
def model(tmp_path):
    """A model's folder with three versions, the first of them stable."""
    folder = tmp_path / "reviews"
    for version in (1, 2, 3):
        (folder / str(version)).mkdir(parents=True)
    write_releases(
        tmp_path / CONFIG_FILE,
        {
            "reviews": Release("reviews", {"stable": 1}),
            "news": Release("news", {"stable": 5}),
        },
    )
    return folder


def stored(model):
    return read_releases(model.parent / CONFIG_FILE)


def test_trial_release_and_rollback(model):
    steps = [
        release(model, canary=2),
        release(model, stable=2),
        release(model, stable=1),
        release(model, canary=3),
        release(model),
    ]

    assert [step.labels for step in steps] == [
        {"stable": 1, "canary": 2},
        {"stable": 2, "previous": 1},
        {"stable": 1, "previous": 2},
        {"stable": 1, "previous": 2, "canary": 3},
        {"stable": 1, "previous": 2},
    ]
    assert stored(model)["reviews"].labels == steps[-1].labels
    assert stored(model)["reviews"].served == (1, 2)


def test_labels_only_move_to_loaded_versions(model):
    """Between two steps a server has what the first one says, no more."""
    states = [Release("m", {"stable": 1})]
    for stable, canary in ((None, 2), (2, None), (2, 3), (3, None), (2, None)):
        states.append(changed(states[-1], stable, canary))

    for before, after in zip(states, states[1:], strict=False):
        for label, version in after.labels.items():
            if before.labels.get(label, version) != version:
                assert version in before.served


def test_other_models_stay(model):
    release(model, canary=2)

    assert stored(model)["news"].labels == {"stable": 5}


def test_a_version_that_is_not_loaded_is_first_on_trial(model):
    with pytest.raises(ValueError, match="release reviews --canary 2; then"):
        release(model, stable=2)
    assert stored(model)["reviews"].labels == {"stable": 1}

    release(model, canary=2)
    with pytest.raises(ValueError, match="'canary' to it. First.*ends the tri"):
        release(model, canary=3)


def test_versions_that_do_not_exist(model):
    for change in ({"stable": 4}, {"canary": 4}):
        with pytest.raises(FileNotFoundError, match="no version 4.*1, 2, 3"):
            release(model, **change)


def test_the_first_release_names_a_stable_version(tmp_path):
    (tmp_path / "new" / "4").mkdir(parents=True)

    with pytest.raises(ValueError, match="stable yet. Say which .* --stable 4"):
        release(tmp_path / "new", canary=4)
    assert release(tmp_path / "new", stable=4).labels == {"stable": 4}


def test_without_any_version(tmp_path):
    for change in ({}, {"stable": 1}):
        with pytest.raises(FileNotFoundError, match="There is no version in"):
            release(tmp_path / "nothing", **change)


def test_the_file_is_replaced_as_a_whole(model, monkeypatch):
    before = (model.parent / CONFIG_FILE).read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        release(model, canary=2)

    assert (model.parent / CONFIG_FILE).read_bytes() == before
