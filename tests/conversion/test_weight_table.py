"""A table fills a model completely or not at all."""

import keras
import numpy as np
import pytest

from keras_albert.conversion.weight_table import assign_weights
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend


@pytest.fixture
def dense():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    return layer


@pytest.fixture
def table(dense):
    return [
        ("w", dense.kernel, lambda array: array.T),
        ("b", dense.bias, None),
    ]


SOURCE = {"w": np.arange(6.0).reshape(3, 2), "b": np.ones(3)}


def test_every_variable_is_set(dense, table):
    assign_weights(table, {**SOURCE, "step": np.array(7)}, skipped=["step"])

    np.testing.assert_array_equal(to_numpy(dense.kernel.value), SOURCE["w"].T)
    np.testing.assert_array_equal(to_numpy(dense.bias.value), SOURCE["b"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"w": SOURCE["w"]}, "Missing in the checkpoint: b"),
        ({**SOURCE, "extra": SOURCE["b"]}, "In the checkpoint alone: extra"),
        ({**SOURCE, "b": np.ones(4)}, r"shape of b .*\(4,\), expected \(3,\)"),
    ],
)
def test_anything_that_does_not_fit_is_named_and_nothing_set(
    dense, table, source, message
):
    before = to_numpy(dense.kernel.value)

    with pytest.raises(ValueError, match=message):
        assign_weights(table, source)

    np.testing.assert_array_equal(to_numpy(dense.kernel.value), before)
