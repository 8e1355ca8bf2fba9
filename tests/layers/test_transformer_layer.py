"""The layer is its two blocks in order, and blocks can be shared."""

import numpy as np
import pytest

from keras_albert.layers import TransformerLayer
from tests.checks import block_weights
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(3).normal(size=(2, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1] * 5], dtype="int32")


def make(**keywords):
    layer = TransformerLayer(8, num_heads=2, intermediate_dim=11, **keywords)
    layer.build(X.shape)
    randomize(layer)
    return layer


def test_is_a_proper_layer():
    check_layer(make(), [X], {"padding_mask": MASK}, num_weights=16)


def test_equals_numpy():
    layer = make()

    output = to_numpy(layer(X, padding_mask=MASK))

    calls = [
        (
            block_weights(layer.self_attention),
            block_weights(layer.feed_forward),
        )
    ]
    expected = numpy_albert.encoder(np.float64(X), MASK, calls, num_heads=2)
    np.testing.assert_allclose(output, expected[-1], atol=1e-5)


def test_a_block_handed_in_is_the_same_variables():
    first = make()

    second = make(self_attention=first.self_attention)

    shared = {id(v) for v in first.weights} & {id(v) for v in second.weights}
    assert len(shared) == len(first.self_attention.weights)
