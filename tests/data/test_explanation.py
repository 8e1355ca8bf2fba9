import numpy as np
import pytest

from keras_albert.data.corpus_batches import corpus_example
from keras_albert.data.explanation import explain_corpus
from keras_albert.data.explanation import explain_example
from keras_albert.data.explanation import explain_prepared
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset

ARGUMENTS = {"batch_size": 7, "sequence_length": 40, "seed": 1}


def batch_of(ids, shown, positions, segments, label, weight, length=14):
    """A batch of one example, written by hand."""
    rest = [0] * (length - len(ids))
    masked = np.zeros((1, 6), "int32")
    masked[0, : len(positions)] = [ids[p] for p in positions]
    places = np.zeros((1, 6), "int32")
    places[0, : len(positions)] = positions
    weights = (np.arange(6) < len(positions)).astype("float32")[None]
    inputs = {
        "token_ids": np.array([shown + rest]),
        "segment_ids": np.array([segments + rest]),
        "padding_mask": np.array([[1] * len(ids) + rest]),
        "mask_positions": places,
    }
    targets = {"masked_lm": masked, "sentence_order": np.array([label])}
    return (
        inputs,
        targets,
        {
            "masked_lm": weights,
            "sentence_order": np.array([weight], "float32"),
        },
    )


def test_every_part_of_an_example_is_named(toy_tokenizer):
    # [CLS] 12 13 14 15 [SEP] 16 17 18 [SEP]; [CLS] is 3, [SEP] 96, [MASK] 11.
    ids = [3, 12, 13, 14, 15, 96, 16, 17, 18, 96]
    shown = [3, 12, 11, 60, 15, 96, 16, 17, 11, 96]
    batch = batch_of(ids, shown, [2, 3, 7, 8], [0] * 6 + [1] * 4, 1, 1.0)

    example = explain_example(*batch, toy_tokenizer)

    assert example.original == [f"p{i}" for i in ids]
    assert example.shown == [f"p{i}" for i in shown]
    assert example.first == "p12 p13 p14 p15"
    assert example.second == "p16 p17 p18"
    assert example.swapped is True
    assert example.special_positions == [0, 5, 9]
    assert example.num_padding == 4
    assert example.spans == [[2, 3], [7, 8]]
    assert [
        (t.position, t.target, t.shown, t.reason) for t in example.targets
    ] == [
        (2, "p13", "p11", "[MASK]"),
        (3, "p14", "p60", "random word"),
        (7, "p17", "p17", "left as it is"),
        (8, "p18", "p11", "[MASK]"),
    ]


def test_an_example_of_one_segment_has_no_order(toy_tokenizer):
    batch = batch_of([3, 12, 96], [3, 12, 96], [], [0, 0, 0], 0, 0.0)

    example = explain_example(*batch, toy_tokenizer)

    assert example.swapped is None
    assert example.second == ""
    assert (example.targets, example.spans) == ([], [])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_row_of_a_dataset_can_be_explained(
    toy_corpus, toy_tokenizer, swapped
):
    dataset = pretraining_dataset(
        toy_corpus,
        toy_tokenizer,
        swap_probability=float(swapped),
        **ARGUMENTS,
    )

    batch = next(iter(dataset))
    example = explain_example(*batch, toy_tokenizer, index=2)

    assert example.swapped is swapped
    assert len(example.targets) == int(batch[2]["masked_lm"][2].numpy().sum())


def test_a_prepared_example_is_the_row_of_the_dataset(prepared, toy_tokenizer):
    dataset = evaluation_dataset(prepared, toy_tokenizer, batch_size=50, seed=1)
    batches = list(dataset.as_numpy_iterator())

    for index in (0, 60, 149):
        found = explain_prepared(prepared, toy_tokenizer, index=index, seed=1)
        batch = batches[index // 50]
        assert found == explain_example(*batch, toy_tokenizer, index % 50)
    other = explain_prepared(prepared, toy_tokenizer, index=60, seed=1, epoch=1)
    assert other != explain_prepared(prepared, toy_tokenizer, index=60, seed=1)


def test_an_example_of_text_is_the_row_of_its_epoch(toy_corpus, toy_tokenizer):
    found = explain_corpus(
        toy_corpus, toy_tokenizer, index=5, seed=1, sequence_length=40, epoch=2
    )

    batch = corpus_example(
        toy_corpus, toy_tokenizer, 5, sequence_length=40, seed=1, epoch=2
    )
    assert found == explain_example(*batch, toy_tokenizer)


@pytest.mark.parametrize("place", [{"index": 10**6}, {"index": 0, "epoch": -1}])
def test_a_place_that_is_not_there_is_an_error(
    prepared, toy_corpus, toy_tokenizer, place
):
    for explain, source in (
        (explain_prepared, prepared),
        (explain_corpus, toy_corpus),
    ):
        with pytest.raises(ValueError, match="must lie between 0 and"):
            explain(source, toy_tokenizer, seed=1, **place)
