import pytest

from keras_albert.training.plan_settings import planned_settings


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
