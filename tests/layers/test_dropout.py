"""Dropout whose masks come from a function."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_albert.layers.dropout import Dropout
from keras_albert.layers.dropout import dropout_source
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

X = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4)


def ladder(shape, seed):
    """0, 1/12, 2/12 …, whatever the seed."""
    size = int(np.prod(shape))
    return ops.reshape(ops.arange(size, dtype="float32") / size, shape)


def test_values_below_the_kept_share_stay_and_are_scaled_up():
    with dropout_source(ladder):
        y = to_numpy(Dropout(0.25)(X, training=True))

    expected = np.where(np.arange(12).reshape(3, 4) < 9, X / 0.75, 0.0)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_the_seed_moves_on_as_in_keras():
    ours, theirs = Dropout(0.5, seed=3), keras.layers.Dropout(0.5, seed=3)
    with dropout_source(ladder):
        ours(X, training=True)
    theirs(X, training=True)

    np.testing.assert_array_equal(
        to_numpy(ours.seed_generator.state.value),
        to_numpy(theirs.seed_generator.state.value),
    )


def test_without_a_source_it_is_keras():
    ours, theirs = Dropout(0.5, seed=3), keras.layers.Dropout(0.5, seed=3)

    np.testing.assert_array_equal(
        to_numpy(ours(X, training=True)), to_numpy(theirs(X, training=True))
    )


@pytest.mark.parametrize("rate, training", [(0.5, False), (0.0, True)])
def test_nothing_is_dropped_in_inference_or_at_rate_zero(rate, training):
    with dropout_source(ladder):
        y = Dropout(rate)(X, training=training)

    np.testing.assert_array_equal(to_numpy(y), X)


def test_a_source_ends_with_its_block():
    with dropout_source(ladder):
        pass
    kept = Dropout(0.5, seed=1)(np.ones((100, 100)), training=True)

    # The ladder would drop the lower half.
    assert to_numpy(kept)[50:].any()
