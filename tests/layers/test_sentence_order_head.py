"""The sentence-order head against NumPy."""

import numpy as np
import pytest

from keras_albert.layers import SentenceOrderHead
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(9).normal(size=(3, 8)).astype("float32")


def make(**keywords):
    head = SentenceOrderHead(**keywords)
    head.build(X.shape)
    randomize(head)
    return head


def test_is_a_proper_layer():
    check_layer(make(), [X], num_weights=2)


def test_logits_are_an_affine_map():
    head = make()

    expected = X @ to_numpy(head.logits.kernel.value) + to_numpy(
        head.logits.bias.value
    )

    np.testing.assert_allclose(to_numpy(head(X)), expected, atol=1e-5)


def test_dropout_is_active_in_training_alone():
    head = make(dropout=0.5)

    outputs = [to_numpy(head(X, training=t)) for t in (False, True)]

    assert np.abs(outputs[0] - outputs[1]).max() > 0.01
