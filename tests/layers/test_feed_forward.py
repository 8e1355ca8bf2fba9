"""The feed-forward block against NumPy."""

import numpy as np
import pytest

from keras_albert.layers import FeedForward
from tests.checks import block_weights
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(2).normal(size=(3, 5, 8)).astype("float32")


def make(**keywords):
    layer = FeedForward(hidden_dim=8, intermediate_dim=11, **keywords)
    layer.build(X.shape)
    randomize(layer)
    return layer


def test_is_a_proper_layer():
    check_layer(make(), [X], num_weights=6)


def test_equals_numpy():
    layer = make()

    output = to_numpy(layer(X))

    expected = numpy_albert.feed_forward(np.float64(X), block_weights(layer))
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_activation_is_used():
    outputs = [to_numpy(make(activation=a)(X)) for a in ("gelu_tanh", "relu")]

    assert np.abs(outputs[0] - outputs[1]).max() > 0.01


def test_dropout_is_active_in_training_alone():
    layer = make(hidden_dropout=0.5)

    outputs = [to_numpy(layer(X, training=t)) for t in (False, False, True)]

    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert np.abs(outputs[0] - outputs[2]).max() > 0.01
