"""The backbone: padding, precision, saving, policies."""

import keras
import numpy as np
import pytest

from keras_albert.models import AlbertBackbone
from tests.checks import max_difference
from tests.checks import to_numpy
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone

pytestmark = pytest.mark.every_backend

POLICIES = ["all", "attention", "ffn", "none"]


@pytest.mark.parametrize("sharing", POLICIES)
def test_padded_ids_change_nothing(sharing):
    backbone, inputs = tiny_backbone(sharing=sharing), backbone_inputs()
    padded = inputs["padding_mask"] == 0
    changed = dict(inputs)
    changed["token_ids"] = np.where(padded, 12, inputs["token_ids"])
    changed["segment_ids"] = np.where(padded, 1, inputs["segment_ids"])
    assert (changed["token_ids"] != inputs["token_ids"]).any()

    before, after = to_numpy(backbone(inputs)), to_numpy(backbone(changed))

    np.testing.assert_array_equal(
        before["pooled_output"], after["pooled_output"]
    )
    np.testing.assert_array_equal(
        before["sequence_output"][~padded], after["sequence_output"][~padded]
    )


@pytest.mark.parametrize(
    "dtype", ["float32", "mixed_float16", "mixed_bfloat16"]
)
@pytest.mark.parametrize("training", [False, True])
def test_rows_of_nothing_but_padding_stay_finite(dtype, training):
    backbone = tiny_backbone(
        dtype=dtype, hidden_dropout=0.1, attention_dropout=0.1
    )
    inputs = backbone_inputs()
    inputs["padding_mask"][:] = 0

    outputs = to_numpy(backbone(inputs, training=training))

    for value in outputs.values():
        assert np.isfinite(value.astype("float32")).all()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("mixed_float16", 0.02), ("mixed_bfloat16", 0.15)]
)
def test_mixed_precision_is_close_to_float32(dtype, tolerance):
    inputs = backbone_inputs()

    outputs = [
        to_numpy(tiny_backbone(dtype=d)(inputs)["pooled_output"])
        for d in ("float32", dtype)
    ]

    assert outputs[1].dtype == dtype[6:]
    assert max_difference(*outputs) < tolerance


@pytest.mark.parametrize("sharing", POLICIES)
def test_keras_file_gives_equal_outputs(sharing, tmp_path):
    backbone, inputs = tiny_backbone(sharing=sharing), backbone_inputs()

    backbone.save(tmp_path / "backbone.keras")
    reloaded = keras.saving.load_model(tmp_path / "backbone.keras")

    assert isinstance(reloaded, AlbertBackbone)
    assert max_difference(backbone(inputs), reloaded(inputs)) == 0
    assert len(reloaded.weights) == len(backbone.weights)


@pytest.mark.parametrize("sharing", POLICIES)
def test_weights_file_and_preset_give_equal_outputs(sharing, tmp_path):
    backbone, inputs = tiny_backbone(sharing=sharing), backbone_inputs()

    backbone.save_weights(tmp_path / "b.weights.h5")
    other = tiny_backbone(seed=99, sharing=sharing)
    assert max_difference(backbone(inputs), other(inputs)) > 0.1
    other.load_weights(tmp_path / "b.weights.h5")
    backbone.save_to_preset(str(tmp_path / "preset"))
    preset = AlbertBackbone.from_preset(str(tmp_path / "preset"))

    assert max_difference(backbone(inputs), other(inputs)) == 0
    assert max_difference(backbone(inputs), preset(inputs)) == 0


def test_every_argument_is_in_the_configuration():
    arguments = {
        "vocabulary_size": 13,
        "num_layers": 4,
        "num_heads": 2,
        "embedding_dim": 8,
        "hidden_dim": 8,
        "intermediate_dim": 11,
        "sharing": "ffn",
        "num_groups": 2,
        "num_inner_repetitions": 2,
        "hidden_dropout": 0.1,
        "attention_dropout": 0.2,
        "activation": "relu",
        "max_sequence_length": 9,
        "num_segments": 3,
        "layer_norm_epsilon": 1e-6,
        "initializer_range": 0.03,
        "use_embedding_projection": True,
        "unroll": False,
        "remat": True,
    }

    config = AlbertBackbone(**arguments).get_config()

    assert {key: config[key] for key in arguments} == arguments


def test_layer_outputs_end_in_the_sequence_output():
    backbone, inputs = tiny_backbone(), backbone_inputs()

    layers = backbone.layer_outputs(inputs)

    assert len(layers) == 3
    assert (
        max_difference(layers[-1], backbone(inputs)["sequence_output"]) < 1e-6
    )


def test_length_and_batch_are_free():
    backbone = tiny_backbone()
    inputs = {k: v[:1, :5] for k, v in backbone_inputs().items()}

    assert tuple(backbone(inputs)["sequence_output"].shape) == (1, 5, 8)


def test_lora_trains_query_and_value_alone():
    backbone = tiny_backbone()

    backbone.enable_lora(2)

    names = {v.path.split("/")[-2] for v in backbone.trainable_variables}
    assert names == {"query", "value"}
