"""What `pretraining_dataset` promises of text is in `test_pretraining`."""

import numpy as np
import pytest

from keras_albert.data.corpus_batches import check_same_tokenizer
from keras_albert.data.corpus_batches import corpus_evaluation_batches
from keras_albert.data.corpus_batches import corpus_example
from keras_albert.data.corpus_batches import corpus_training_batches
from keras_albert.data.example_batches import BatchMaker
from tests.data.conftest import ToyTokenizer
from tests.data.conftest import flat
from tests.data.conftest import rows_of
from tests.data.conftest import take

PAIRING = {
    "sequence_length": 40,
    "seed": 1,
    "objective": "sop",
    "short_sequence_probability": 0.1,
    "swap_probability": 0.5,
}


@pytest.fixture
def make_batch(toy_tokenizer):
    return BatchMaker(toy_tokenizer, 40, None, None)


@pytest.mark.parametrize("batch_size", [6, 300])
def test_the_rows_of_all_workers_are_the_batch(
    toy_corpus, make_batch, batch_size
):
    def batches(*worker):
        return take(
            corpus_training_batches(
                toy_corpus, make_batch, PAIRING, batch_size, 4, *worker
            ),
            5,
        )

    whole, parts = batches(), [batches(i, 3) for i in range(3)]

    for batch, *shares in zip(whole, *parts, strict=True):
        for name, column in batch.items():
            together = np.concatenate([share[name] for share in shares])
            assert (together == column).all()


@pytest.mark.parametrize("batch_size", [3, 256, 257])
def test_evaluation_ends_with_the_last_pair(toy_corpus, make_batch, batch_size):
    dataset = corpus_evaluation_batches(
        toy_corpus, make_batch, PAIRING, batch_size
    )

    batches = take(dataset, -1)

    real = [batch["padding_mask"].sum(axis=1) > 2 for batch in batches]
    assert len(dataset) == len(batches)
    assert all(rows.any() for rows in real)
    assert all(rows.all() for rows in real[:-1])


def test_one_example_is_the_row_of_its_epoch(
    toy_corpus, toy_tokenizer, make_batch
):
    evaluated = rows_of(
        take(corpus_evaluation_batches(toy_corpus, make_batch, PAIRING, 8), -1)
    )

    def example(index, epoch):
        batch = corpus_example(
            toy_corpus,
            toy_tokenizer,
            index,
            sequence_length=40,
            seed=1,
            epoch=epoch,
        )
        named = {name: value.numpy() for name, value in flat(batch).items()}
        return rows_of([named])[0]

    assert [example(i, 0) for i in (0, 9, 70)] == [
        evaluated[i] for i in (0, 9, 70)
    ]
    assert example(9, 1) != evaluated[9]
    with pytest.raises(ValueError, match="index=100000"):
        example(100000, 0)


def test_a_corpus_without_a_fingerprint_is_taken_as_it_is(toy_corpus):
    import dataclasses

    unknown = dataclasses.replace(toy_corpus, tokenizer_fingerprint="")

    check_same_tokenizer(unknown, ToyTokenizer())
