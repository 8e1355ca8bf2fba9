"""Layer normalisation against the formula."""

import keras
import ml_dtypes
import numpy as np
import pytest

from keras_albert.layers.layer_normalization import LayerNormalization
from tests.checks import block_weights
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(2).normal(3, 2, size=(2, 5, 8)).astype("float32")


def make(**keywords):
    layer = LayerNormalization(**keywords)
    layer.build(X.shape)
    randomize(layer)
    return layer


def expected(layer, x):
    x = np.float64(x)
    unit = (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + layer.epsilon
    )
    weights = block_weights(layer)
    gamma, beta = (
        next(v for k, v in weights.items() if k.endswith(name))
        for name in ("gamma", "beta")
    )
    return unit * gamma + beta


@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_it_is_the_formula(epsilon):
    layer = make(epsilon=epsilon)

    np.testing.assert_allclose(
        to_numpy(layer(X)), expected(layer, X), atol=1e-5
    )


def test_half_precision_is_normalised_in_single():
    layer = make(dtype="mixed_float16")
    # Sums of squares beyond float16's largest number, 65,504.
    x = np.float16(X * 100)

    y = layer(x)

    assert keras.backend.standardize_dtype(y.dtype) == "float16"
    np.testing.assert_allclose(to_numpy(y), expected(layer, x), atol=5e-3)


def test_weights_may_be_16_bit_themselves():
    layer = make(dtype="bfloat16")

    y = layer(ml_dtypes.bfloat16(X))

    np.testing.assert_allclose(
        np.float32(to_numpy(y)),
        expected(layer, ml_dtypes.bfloat16(X)),
        atol=0.03,
    )


def test_is_a_proper_layer():
    check_layer(LayerNormalization(), [X], num_weights=2)
