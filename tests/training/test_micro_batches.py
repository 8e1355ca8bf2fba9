import numpy as np
import pytest
import tensorflow as tf

from keras_albert.training.micro_batches import TargetAccuracy
from keras_albert.training.micro_batches import split_batches
from tests.training.one_step import make_batch
from tests.training.one_step import step_of


def dataset_of(batch):
    return tf.data.Dataset.from_tensors(batch)


@pytest.mark.every_backend
def test_parts_make_the_update_of_the_whole_batch():
    """Gradients of all weights, though the targets lie very unevenly."""
    whole = step_of(dataset_of(make_batch()), parts=0)
    parts = step_of(split_batches(dataset_of(make_batch()), 4), parts=4)

    for ours, expected in zip(parts, whole, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-6)


@pytest.mark.every_backend
def test_with_dropout_each_part_draws_on():
    """The mean of both parts' gradients, the second with the next masks."""
    parts = list(split_batches(dataset_of(make_batch()), 2))
    first, second = (tf.data.Dataset.from_tensors(part) for part in parts)

    both = step_of(first.concatenate(second), 2, dropout=0.3)
    alone = step_of(first, 1, dropout=0.3)
    later = step_of(second, 1, dropout=0.3, advance=1)

    for ours, one, two in zip(both, alone, later, strict=True):
        np.testing.assert_allclose(ours, (one + two) / 2, atol=2e-6)


def test_weights_are_divided_by_those_of_the_whole_batch():
    batch = make_batch()
    parts = list(split_batches(dataset_of(batch), 2).as_numpy_iterator())

    assert len(parts) == 2
    for index in (0, 1, 2):
        for name, whole in batch[index].items():
            joined = np.concatenate([part[index][name] for part in parts])
            if index == 2:
                whole = whole * 2 / whole.sum()
            np.testing.assert_allclose(joined, whole, rtol=1e-6)


def test_a_batch_without_targets_stays_at_zero():
    batch = make_batch()
    batch[2]["sentence_order"][:] = 0.0

    (part,) = split_batches(dataset_of(batch), 1).as_numpy_iterator()

    assert not part[2]["sentence_order"].any()


def test_the_number_of_batches_is_known():
    endless = dataset_of(make_batch()).repeat()

    assert (
        split_batches(endless, 4).cardinality() == tf.data.INFINITE_CARDINALITY
    )
    assert split_batches(endless.take(3), 4).cardinality() == 12
    shape = split_batches(endless, 4).element_spec[0]["token_ids"].shape
    assert shape == (2, 6)


def test_accuracy_counts_every_target_alike():
    metric = TargetAccuracy()
    metric.update_state([0, 1], [[2.0, 1.0], [2.0, 1.0]], [0.5, 0.5])
    metric.update_state([1, 1], [[1.0, 2.0], [1.0, 2.0]], [0.1, 0.0])

    assert float(metric.result()) == pytest.approx(2 / 3)
