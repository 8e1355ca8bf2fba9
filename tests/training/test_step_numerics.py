"""What saves memory or time gives the gradients of what does not.

One update of the pretrainer with both losses and with dropout. What a dropout
draws depends on its seed alone here, not on the precision, as it does in Keras:
so a call that drew other masks would be far away.
"""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_albert.layers.dropout import dropout_source
from tests.training.one_step import make_batch
from tests.training.one_step import step_of

pytestmark = pytest.mark.every_backend

DROPOUT = 0.3


def uniform(shape, seed):
    """Numbers between 0 and 1, in integers: every compiler gets the same."""
    prime = 65521
    places = ops.reshape(ops.arange(int(np.prod(shape)), dtype="int32"), shape)
    key, count = ops.cast(seed[0] % 1009, "int32"), ops.cast(seed[1], "int32")
    mixed = (places * 7919 + key * 31337 + count * 9973) % prime
    for factor in (17389, 31337):
        mixed = ops.bitwise_xor(mixed, mixed // 128) * factor % prime
    return ops.cast(mixed, "float32") / prime


@pytest.fixture(autouse=True, scope="module")
def same_draws():
    with dropout_source(uniform):
        yield


@pytest.fixture(scope="module")
def dataset():
    return tf.data.Dataset.from_tensors(make_batch())


@pytest.fixture(scope="module")
def plain(dataset):
    return step_of(dataset, dropout=DROPOUT, num_layers=2)


def distance(ours, expected):
    """How far all gradients together lie from the expected, as a share."""
    ours, expected = (
        np.concatenate([x.ravel() for x in each]) for each in (ours, expected)
    )
    return np.linalg.norm(ours - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("arguments", "tolerance"),
    [
        ({"unroll": False, "remat": True}, 1e-5),
        ({"dtype": "mixed_bfloat16"}, 0.15),
        # With the loss scaled, and the gradients scaled back.
        ({"dtype": "mixed_float16"}, 0.02),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_gradients_with_dropout_equal_the_plain_ones(
    dataset, plain, arguments, tolerance
):
    ours = step_of(dataset, dropout=DROPOUT, num_layers=2, **arguments)

    assert distance(ours, plain) < tolerance
