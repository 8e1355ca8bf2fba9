import json
import pathlib

import pytest

from keras_albert.models.config import AlbertConfig
from keras_albert.training.phases import Phase
from keras_albert.training.plan_settings import from_plain
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_settings import run_defaults
from keras_albert.training.plan_settings import to_plain


def test_a_plan_has_the_settings_of_the_run(tiny_config):
    settings = planned_settings(
        config={**tiny_config, "vocabulary_size": 77},
        batch_size=8,
        accumulate=2,
        sequence_length=16,
        dtype="mixed_bfloat16",
        remat=True,
        optimizer="lamb",
        steps=10,
    )

    assert settings.backbone["vocabulary_size"] == 77
    assert settings.backbone["dtype"] == "mixed_bfloat16"
    assert settings.backbone["remat"] is True
    assert settings.optimizer["name"] == "lamb"
    assert settings.optimizer["accumulate"] == 2
    assert (settings.steps, settings.sequence_length) == (10, 16)


def test_the_vocabulary_is_the_users_the_sizes_or_a_usual_one(tiny_config):
    def vocabulary(**settings):
        backbone = planned_settings(steps=1, **settings).backbone
        return backbone["vocabulary_size"]

    assert vocabulary(size="albert_base_zh") == 21128
    assert vocabulary(size="albert_base", vocabulary_size=200_000) == 200_000
    assert vocabulary(config=tiny_config, sequence_length=16) == 30_000


def test_a_published_size_is_planned_to_the_end():
    settings = planned_settings(size="albert_base", batch_size=4096)

    # The paper: 125,000 steps of LAMB.
    assert settings.steps == 125_000
    assert settings.optimizer["name"] == "lamb"


def test_what_does_not_fit_together_is_refused(tiny_config, tmp_path):
    with pytest.raises(ValueError, match="Did you mean albert_base"):
        planned_settings(size="albert_bas")
    with pytest.raises(ValueError, match="positions"):
        planned_settings(config=tiny_config, sequence_length=64)
    with pytest.raises(FileNotFoundError, match="No configuration"):
        planned_settings(config=tmp_path / "none.yaml")


def test_phases_are_those_of_the_run():
    settings = planned_settings(
        phases="128x8@6:90%,512x4:10%",
        steps=100,
        size="albert_base",
    )

    spans = [
        (s.stop - s.start, s.sequence_length, s.batch_size, s.num_layers)
        for s in settings.spans
    ]
    assert spans == [(90, 128, 8, 6), (10, 512, 4, None)]
    with pytest.raises(ValueError, match="A phase is written"):
        planned_settings(phases="128", steps=100)
    with pytest.raises(ValueError, match="sum to 100 %"):
        planned_settings(phases="128:50%", steps=100)


def test_defaults_are_those_of_pretrain():
    defaults = run_defaults()

    # As its documentation has them.
    assert defaults["batch_size"] == 32
    assert defaults["clip_norm"] == 1.0
    assert defaults["weight_decay"] == 0.01
    settings = planned_settings(steps=10)
    assert settings.optimizer["clip_norm"] == 1.0
    assert settings.optimizer["ema_momentum"] is None
    # Of text, folders and devices a plan knows nothing.
    assert not {"corpus", "output", "distribution", "callbacks"} & set(defaults)


def test_a_setting_that_a_plan_cannot_have_is_named():
    with pytest.raises(TypeError, match="no setting batchsize, corpus. It "):
        planned_settings(corpus="a.txt", batchsize=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 5, "phases": "16:100%"},
        {
            "phases": [Phase(16, 0.5, None, 1), Phase(32, 0.5)],
            "config": "a.yml",
        },
        {"config": {"num_layers": 2}},
    ],
    ids=str,
)
def test_settings_survive_json(settings):
    read = from_plain(json.loads(json.dumps(to_plain(settings))))

    assert read == settings


def test_paths_and_configurations_become_plain(tiny_config):
    assert to_plain({"config": pathlib.Path("a.yml")}) == {"config": "a.yml"}
    config = AlbertConfig(**tiny_config)
    assert AlbertConfig(**to_plain({"config": config})["config"]) == config
