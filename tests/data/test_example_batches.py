import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data.counter_random import derive_key
from keras_albert.data.example_batches import BatchMaker
from keras_albert.data.example_batches import blocks_to_batches
from keras_albert.data.example_batches import check_count
from keras_albert.data.example_batches import check_index
from keras_albert.data.example_batches import map_in_order
from keras_albert.data.pair_layout import pair_layout


@pytest.fixture
def batch(toy_tokenizer):
    """Labels and masks of 50 rows whose text holds every kind of token."""
    random = np.random.default_rng(0)
    layout = pair_layout(tf.fill([50], 20), tf.fill([50], 12), 40)
    return BatchMaker(toy_tokenizer, 40, None, None)(
        layout,
        tf.constant(random.integers(0, 101, (50, 40)), tf.int32),
        tf.constant(random.random((50, 40)) < 0.6),
        tf.range(50) % 2,
        tf.ones(50),
        tf.constant(derive_key(1, np.arange(50))),
    )


def test_labels_are_passed_on(batch):
    _, targets, weights = batch

    assert targets["sentence_order"].numpy().tolist() == [0, 1] * 25
    assert weights["sentence_order"].numpy().tolist() == [1] * 50


def test_the_default_width_fits_the_masking_rate(batch):
    inputs, targets, weights = batch

    assert inputs["mask_positions"].shape == (50, 6)  # 15 % of 40
    assert targets["masked_lm"].shape == (50, 6)
    # 35 tokens: five of them.
    assert (weights["masked_lm"].numpy().sum(axis=1) <= 5).all()
    assert weights["masked_lm"].numpy().sum() > 200


def test_special_tokens_in_the_text_are_no_targets(batch, toy_tokenizer):
    _, targets, weights = batch

    real = weights["masked_lm"].numpy() > 0
    found = targets["masked_lm"].numpy()[real]
    assert not np.isin(found, toy_tokenizer.special_token_ids).any()


def test_blocks_become_batches_of_one_size():
    blocks = tf.data.Dataset.range(23).batch(6)

    batches = blocks_to_batches(blocks, 4, 3)

    assert len(batches) == 3
    assert [b.tolist() for b in batches.as_numpy_iterator()] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]


def test_parallel_mapping_keeps_the_order():
    numbers = tf.data.Dataset.range(300)

    doubled = map_in_order(numbers, lambda number: 2 * number)

    assert list(doubled.as_numpy_iterator()) == list(range(0, 600, 2))
    assert doubled.options().threading.max_intra_op_parallelism == 1


@pytest.mark.parametrize("value", [0, 1.5, "3", None])
def test_counts_are_integers_of_a_least_size(value):
    check_count("rows", 1, 1)

    with pytest.raises(ValueError, match="`rows`.*at least 1"):
        check_count("rows", value, 1)


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_counts_what_there_is(index):
    check_index(4, 5)

    with pytest.raises(ValueError, match=f"between 0 and 4.*index={index}"):
        check_index(index, 5)
