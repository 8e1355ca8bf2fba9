import math

import pytest

from keras_albert.training.phases import Phase
from keras_albert.training.run_settings import resolve_settings
from keras_albert.training.run_text import TextSources


@pytest.fixture
def resolve(documents, tokenizer, tiny_config):
    def call(**changes):
        arguments = {
            "steps": 6,
            "size": None,
            "config": tiny_config,
            "recipe": None,
            "batch_size": 8,
            "accumulate": 1,
            "sequence_length": 16,
            "phases": None,
            "optimizer": None,
            "learning_rate": None,
            "warmup_steps": None,
            "weight_decay": 0.01,
            "clip_norm": 1.0,
            "ema_momentum": None,
            "dtype": None,
            "unroll": None,
            "remat": None,
            "objective": "sop",
            "sentence_order_weight": 1.0,
            "seed": 0,
            "evaluation_every": None,
            "evaluation_passes": 1,
            "checkpoint_every": None,
            "jit_compile": "auto",
            "tensorboard": False,
        }
        sources = TextSources(documents, tokenizer)
        return resolve_settings(sources, **{**arguments, **changes})

    return call


def test_what_is_left_out_is_chosen(resolve):
    settings = resolve(steps=5000, sequence_length=None, config=None)

    assert settings.sequence_length == 128
    assert settings.evaluation_every == 500
    assert settings.backbone["vocabulary_size"] == 13
    assert settings.backbone["hidden_dim"] == 192
    assert settings.optimizer["peak_rate"] == pytest.approx(5e-4)


def test_evaluations_are_at_most_a_thousand_steps_apart(resolve):
    assert resolve(steps=50_000).evaluation_every == 1000
    assert resolve(steps=5).evaluation_every == 1


def test_a_published_size_is_pretrained_as_published(resolve):
    settings = resolve(size="albert_base", config=None, steps=None)

    assert settings.steps == 125_000 * 4096 // 8
    assert settings.spans[-1].stop == settings.steps
    assert settings.optimizer["name"] == "lamb"
    assert settings.optimizer["warmup_steps"] == 3125 * 4096 // 8
    assert settings.recipe.name == "published"


def test_the_recipe_is_for_the_batches_of_the_phases(resolve):
    """90 % of 256 and 10 % of 64 are 236.8 examples a step."""
    published = {"size": "albert_base", "config": None, "steps": None}
    phased = resolve(phases="128x256:90%,512x64:10%", **published)
    alike = resolve(batch_size=237, **published)

    assert phased.steps == alike.steps == round(125_000 * 4096 / 237)
    assert phased.optimizer == alike.optimizer


def test_every_setting_that_changes_numbers_is_described(resolve):
    """What is not described could differ when a run is continued."""
    before = resolve().describe()
    changes = {
        "steps": 7,
        "batch_size": 4,
        "sequence_length": 8,
        "optimizer": "lamb",
        "learning_rate": 0.5,
        "warmup_steps": 2,
        "weight_decay": 0.5,
        "clip_norm": 0.5,
        "ema_momentum": 0.5,
        "accumulate": 2,
        "unroll": False,
        "remat": True,
        "dtype": "mixed_bfloat16",
        "objective": "none",
        "sentence_order_weight": 0.5,
        "seed": 1,
        "evaluation_every": 3,
        "evaluation_passes": 2,
    }
    for name, value in changes.items():
        assert resolve(**{name: value}).describe() != before, name


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"accumulate": 3}, "Take accumulate=2"),
        ({"recipe": "mine"}, "published, small"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"optimizer": "sgd"}, "adamw, lamb"),
        ({"sequence_length": 33}, "only 32 positions"),
        ({"phases": "16:50%,33:50%"}, "only 32 positions"),
        ({"phases": "16:50%,32:40%"}, "sum to 100 %"),
        ({"phases": "16@3:50%,16:50%"}, "between 1 and 2"),
        ({"phases": "16:50%,16@1:50%"}, "must train all 2 layers"),
        ({"phases": "16@0:50%,16:50%"}, "num_layers=0"),
        ({"phases": [Phase(16, math.nan)]}, "share=nan"),
        ({"sequence_length": 0, "phases": None}, "sequence_length=0"),
        ({"evaluation_passes": 0}, "evaluation_passes=0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be a number above 0"),
        ({"learning_rate": math.nan}, "learning_rate=nan"),
        ({"clip_norm": -1.0}, "clip_norm=-1.0"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1"),
        ({"sentence_order_weight": -1.0}, "sentence_order_weight=-1.0"),
        ({"ema_momentum": 1.0}, "at least 0 and below 1"),
        ({"seed": -1}, "seed=-1"),
        ({"warmup_steps": 6}, "below `total_steps`"),
        ({"size": "albert_base"}, "Give one of them"),
        ({"size": "albert_bass", "config": None}, "albert_base"),
    ],
)
def test_what_does_not_fit_is_refused(resolve, changes, message):
    with pytest.raises(ValueError, match=message):
        resolve(**changes)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"steps": 1.5}, "steps=1.5"),
        ({"accumulate": 2.0}, "accumulate=2.0"),
        ({"batch_size": "8"}, "batch_size='8'"),
        ({"warmup_steps": "2"}, "warmup_steps='2'"),
        ({"learning_rate": "1e-3"}, "learning_rate='1e-3'"),
        ({"phases": ["16:100%"]}, "list of `Phase`"),
        ({"phases": 3}, "list of `Phase`"),
        ({"seed": None}, "`seed` must be a number"),
        ({"batch_size": None}, "`batch_size` must be a number"),
        ({"config": 3}, "YAML or JSON file. Received: config=3"),
        ({"config": {1: 2}}, "YAML or JSON file. Received: config={1: 2}"),
        ({"phases": Phase(16)}, "list of `Phase`"),
        ({"phases": [Phase(16, batch_size=2.5)]}, "batch_size=2.5"),
        ({"phases": [Phase(16, alternating=[(8.0, 2)])]}, "=8.0"),
    ],
)
def test_what_is_no_number_is_refused(resolve, changes, message):
    with pytest.raises(TypeError, match=message):
        resolve(**changes)


def test_weights_of_16_bits_are_refused(resolve):
    with pytest.raises(ValueError, match="Pass 'mixed_bfloat16'"):
        resolve(dtype="bfloat16")


def test_heads_that_do_not_divide_the_width_are_refused(resolve, tiny_config):
    with pytest.raises(ValueError, match="hidden_dim=16, num_heads=3"):
        resolve(config={**tiny_config, "num_heads": 3})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"activation": "swish"}, "`activation` must be one of"),
        ({"num_groups": 3}, "num_groups=3, num_layers=2"),
        ({"use_embedding_projection": False}, "embedding_dim=8, hidden_dim=16"),
        ({"num_segments": 1}, "num_segments=1"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused(
    resolve, tiny_config, changes, message
):
    with pytest.raises(ValueError, match=message):
        resolve(config={**tiny_config, **changes})


def test_masked_words_alone_need_one_segment(resolve, tiny_config):
    config = {**tiny_config, "num_segments": 1}

    assert (
        resolve(config=config, objective="none").backbone["num_segments"] == 1
    )


def test_a_vocabulary_of_another_size_is_refused(resolve, tiny_config):
    with pytest.raises(ValueError, match="vocabulary_size=99"):
        resolve(config={**tiny_config, "vocabulary_size": 99})
