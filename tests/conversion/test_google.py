"""Google's own numbers, layer by layer, from Google's own checkpoints."""

import json
import shutil

import numpy as np
import pytest
from keras import ops

from keras_albert.conversion import load_google_checkpoint
from keras_albert.conversion.google import google_config_to_arguments
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

NAMES = ["tiny_all", "tiny_groups", "tiny_relu"]
INPUTS = ["token_ids", "segment_ids", "padding_mask", "mask_positions"]


def load(golden, name):
    folder = golden / "google_tf1" / name
    reference = dict(np.load(folder / "reference.npz"))
    inputs = {key: reference[key] for key in INPUTS}
    return load_google_checkpoint(folder), inputs, reference


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_equals_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)

    layers = to_numpy(pretrainer.backbone.layer_outputs(inputs))

    np.testing.assert_allclose(
        np.stack(layers), reference["all_layers"], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("name", NAMES)
def test_backbone_outputs_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)
    del inputs["mask_positions"]

    outputs = to_numpy(pretrainer.backbone(inputs))

    for key in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(
            outputs[key], reference[key], rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("name", NAMES)
def test_both_heads_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)

    outputs = pretrainer(inputs)

    for key, theirs in [
        ("masked_lm", "mlm_log_probs"),
        ("sentence_order", "sop_log_probs"),
    ]:
        ours = to_numpy(ops.log_softmax(outputs[key], axis=-1))
        np.testing.assert_allclose(
            ours.reshape(reference[theirs].shape),
            reference[theirs],
            rtol=0,
            atol=1e-5,
        )


@pytest.mark.parametrize("name", NAMES)
def test_losses_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)

    losses = pretrainer.evaluate(
        inputs,
        {
            "masked_lm": reference["mask_ids"],
            "sentence_order": reference["sentence_order_labels"][:, 0],
        },
        sample_weight={
            "masked_lm": reference["mask_weights"],
            "sentence_order": np.ones(len(inputs["token_ids"]), "float32"),
        },
        batch_size=len(inputs["token_ids"]),
        verbose=0,
        return_dict=True,
    )

    # Google adds 1e-5 to the denominator.
    assert losses["masked_lm_loss"] == pytest.approx(
        float(reference["mlm_loss"]), rel=2e-5
    )
    assert losses["sentence_order_loss"] == pytest.approx(
        float(reference["sop_loss"]), rel=2e-5
    )


def test_a_configuration_of_another_model_is_refused(golden, tmp_path):
    folder = shutil.copytree(golden / "google_tf1" / "tiny_all", tmp_path / "m")
    file = folder / "albert_config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "num_hidden_groups": 5}))

    with pytest.raises(ValueError, match="Missing.*group_1/inner_group_0"):
        load_google_checkpoint(folder)


def test_unknown_keys_and_activations_are_named():
    with pytest.raises(ValueError, match="hiden_size"):
        google_config_to_arguments({"hiden_size": 8})
    with pytest.raises(ValueError, match="'mish'"):
        google_config_to_arguments({"hidden_act": "mish"})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="albert_config.json"):
        load_google_checkpoint(tmp_path)
