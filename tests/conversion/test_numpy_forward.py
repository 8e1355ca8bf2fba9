"""The NumPy computation against Google's own numbers."""

import numpy as np
import pytest

from keras_albert.conversion.google import google_source
from keras_albert.conversion.numpy_forward import ACTIVATIONS
from keras_albert.conversion.numpy_forward import numpy_outputs
from keras_albert.layers.activations import get_activation
from tests.checks import to_numpy


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("name", ["tiny_all", "tiny_groups", "tiny_relu"])
def test_every_output_is_googles(golden, name):
    folder = golden / "google_tf1" / name
    reference = dict(np.load(folder / "reference.npz"))
    source = google_source(folder / "model.ckpt", folder / "albert_config.json")

    outputs = numpy_outputs(source, reference)

    for key in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(
            outputs[key], reference[key], rtol=0, atol=1e-5
        )
    np.testing.assert_allclose(
        log_softmax(outputs["sentence_order"]),
        reference["sop_log_probs"],
        rtol=0,
        atol=1e-5,
    )
    positions = reference["mask_positions"][:, :, None]
    scores = np.take_along_axis(outputs["masked_lm"], positions, 1)
    np.testing.assert_allclose(
        log_softmax(scores).reshape(reference["mlm_log_probs"].shape),
        reference["mlm_log_probs"],
        rtol=0,
        atol=1e-5,
    )
    assert "classifier" not in outputs


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_ours(name):
    x = np.linspace(-4, 4, 33).astype("float32")
    np.testing.assert_allclose(
        ACTIVATIONS[name](x),
        to_numpy(get_activation(name)(x)),
        rtol=0,
        atol=1e-6,
    )
