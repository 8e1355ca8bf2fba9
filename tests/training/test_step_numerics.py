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
    """Numbers between 0 and 1 in which no pattern is easily seen."""
    count = int(np.prod(shape))
    places = ops.reshape(ops.arange(count, dtype="float32"), shape)
    mixed = ops.cast(seed[1] * 131 + seed[0] % 1009, "float32")
    waves = ops.sin(places * 12.9898 + mixed * 78.233) * 4375.85
    return waves - ops.floor(waves)


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
