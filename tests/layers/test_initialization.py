"""The initializer's distribution and its seed."""

import numpy as np
import pytest

from keras_albert.layers.initialization import filled_later
from keras_albert.layers.initialization import kernel_initializer
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend


def test_values_are_truncated_at_two_deviations():
    values = to_numpy(kernel_initializer(0.02, seed=3)((200, 200)))

    assert np.abs(values).max() <= 0.0401
    # A normal cut at two deviations has 0.88 of the deviation left.
    assert abs(values.std() - 0.02 * 0.88) < 2e-4


def test_same_seed_gives_same_values():
    one, two = (kernel_initializer(seed=5)((3, 7)) for _ in range(2))

    np.testing.assert_array_equal(to_numpy(one), to_numpy(two))


def test_weights_that_are_filled_later_start_at_zero():
    with filled_later():
        initializer = kernel_initializer(0.02)
    assert not to_numpy(initializer((3, 7))).any()
    assert to_numpy(kernel_initializer(0.02)((3, 7))).any()
