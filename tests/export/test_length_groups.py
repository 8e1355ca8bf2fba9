"""Groups of rows of like length: same answers, in order, little padding."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.length_groups import padded_length
from keras_albert.export.length_groups import row_lengths
from keras_albert.export.length_groups import run_in_groups

OUTPUTS = {
    "total": tf.TensorSpec([], tf.int32),
    "group": tf.TensorSpec([2], tf.int32),
}


def sums(inputs):
    """A row's sum of its real ids, and the shape of the group it was in."""
    ids, mask = inputs["token_ids"], inputs["padding_mask"]
    rows = tf.shape(ids)[0]
    return {
        "total": tf.reduce_sum(ids * mask, 1),
        "group": tf.tile(tf.shape(ids)[None], [rows, 1]),
    }


def run(lengths, width=64, budget=64):
    mask = (np.arange(width) < np.array(lengths)[:, None]).astype("int32")
    ids = np.random.default_rng(1).integers(1, 99, mask.shape).astype("int32")

    @tf.function(autograph=False)
    def call(ids, mask):
        inputs = {"token_ids": ids, "padding_mask": mask}
        return run_in_groups(sums, inputs, OUTPUTS, group_tokens=budget)

    found = call(tf.constant(ids), tf.constant(mask))
    return (ids * mask).sum(1), {k: v.numpy() for k, v in found.items()}


def test_answers_come_in_the_order_of_the_rows():
    totals, found = run([5, 64, 1, 30, 2, 64, 17, 1])

    np.testing.assert_array_equal(found["total"], totals)


def test_groups_are_as_wide_as_their_longest_row_and_no_larger():
    _, found = run([5, 64, 1, 30, 2, 40, 17, 1], budget=64)

    # By falling length: 64 | 40 | 30, 17 (32 wide) | 5, 2, 1, 1 (8 wide).
    assert found["group"].tolist() == [
        *([4, 8], [1, 64], [4, 8], [2, 32]),
        *([4, 8], [1, 40], [2, 32], [4, 8]),
    ]


def test_a_row_above_the_budget_is_a_group():
    totals, found = run([64, 60], budget=8)

    np.testing.assert_array_equal(found["total"], totals)
    assert found["group"].tolist() == [[1, 64], [1, 64]]


@pytest.mark.parametrize("width", [0, 8])
def test_no_rows(width):
    _, found = run(np.zeros(0, int), width=width)

    assert found["total"].shape == (0,)
    assert found["group"].shape == (0, 2)


def test_lengths_reach_to_the_last_token():
    mask = tf.constant([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])

    assert row_lengths(mask).numpy().tolist() == [3, 1, 4]


@pytest.mark.parametrize(
    "length, limit, rounded", [(1, 64, 8), (8, 64, 8), (9, 64, 16), (9, 12, 12)]
)
def test_lengths_are_rounded_up(length, limit, rounded):
    assert int(padded_length(tf.constant(length), limit)) == rounded
