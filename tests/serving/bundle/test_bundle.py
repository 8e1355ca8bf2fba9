"""The files beside a model."""

import pytest
import yaml

from keras_albert.export.signature_shapes import ServedTask
from keras_albert.serving.bundle import bundle
from keras_albert.serving.bundle.bundle import write_bundle
from keras_albert.serving.bundle.config import CONFIG_FILE
from keras_albert.serving.bundle.config import read_releases
from keras_albert.serving.bundle.readme import MARK
from keras_albert.serving.bundle.release import release

FILES = {
    *("README.md", "compose.yaml", "kubernetes.yaml", "config/models.config"),
    *("config/batching.config", "config/monitoring.config"),
    "clients/AlbertClient.java",
}


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model's folder with one version, whose graph is not read."""
    signatures = ServedTask("backbone", 8, 16, 11).signatures()
    monkeypatch.setattr(bundle, "read_graph", lambda folder: signatures)
    monkeypatch.setattr(bundle, "signatures_of", lambda graph: graph)
    monkeypatch.setattr(bundle, "describe_signature", lambda shapes: shapes)
    (tmp_path / "reviews" / "1").mkdir(parents=True)
    return tmp_path / "reviews"


def test_all_files_are_there(model):
    deploy = write_bundle(model)

    assert deploy == model.parent / "deploy"
    found = {
        path.relative_to(deploy).as_posix()
        for path in deploy.rglob("*")
        if path.is_file()
    }
    assert found == FILES
    labels = read_releases(model.parent / CONFIG_FILE)["reviews"].labels
    assert labels == {"stable": 1}


def test_flags_name_files_that_exist(model):
    deploy = write_bundle(model)

    service = yaml.safe_load((deploy / "compose.yaml").read_text())
    flags = service["services"]["albert"]["command"]
    named = [
        flag.split("=/config/")[1] for flag in flags if "=/config/" in flag
    ]
    assert len(named) == 3
    assert all((deploy / "config" / name).is_file() for name in named)


def test_edited_files_are_kept(model):
    deploy = write_bundle(model)
    for name in FILES - {"config/models.config"}:
        (deploy / name).write_text("mine")
    (model / "2").mkdir()
    release(model, canary=2)

    write_bundle(model)

    for name in FILES - {"config/models.config"}:
        assert (deploy / name).read_text() == "mine"
    # A new version is not released by being there.
    labels = read_releases(model.parent / CONFIG_FILE)["reviews"].labels
    assert labels == {"stable": 1, "canary": 2}


def test_a_second_model_is_added(model):
    write_bundle(model)
    (model.parent / "news" / "3").mkdir(parents=True)

    deploy = write_bundle(model.parent / "news")

    found = read_releases(model.parent / CONFIG_FILE)
    assert found["news"].labels == {"stable": 3}
    assert found["reviews"].labels == {"stable": 1}
    text = (deploy / "README.md").read_text()
    assert "## The model `news`" in text
    assert "## The model `reviews`" in text
    assert MARK in text


def test_no_version(tmp_path):
    with pytest.raises(FileNotFoundError, match="no version in .*nothing"):
        write_bundle(tmp_path / "nothing")


@pytest.mark.parametrize(
    "name, text",
    [("my model", "'my model' becomes"), ("deploy", "files that run a server")],
)
def test_a_name_that_cannot_be_served(tmp_path, name, text):
    (tmp_path / name / "1").mkdir(parents=True)

    with pytest.raises(ValueError, match=text):
        write_bundle(tmp_path / name)
    assert not (tmp_path / "deploy" / "config").exists()


def test_the_readme_tells_of_the_next_release(model):
    def commands():
        lines = (write_bundle(model) / "README.md").read_text().splitlines()
        return [line for line in lines if " ../reviews" in line]

    assert "writes ../reviews/2" in commands()[0]
    (model / "2").mkdir()
    assert "--canary 2  # on trial beside 1" in commands()[0]
    release(model, canary=2)
    release(model, stable=2)
    assert "writes ../reviews/3" in commands()[0]
