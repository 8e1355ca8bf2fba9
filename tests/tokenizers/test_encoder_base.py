"""Flat ids: replacing some by rows, and typed special tokens."""

import numpy as np
import pytest

from keras_albert.tokenizers.encoder_base import expand_ids
from keras_albert.tokenizers.encoder_base import find_special_ids
from keras_albert.tokenizers.encoder_base import splits_of_lengths
from keras_albert.tokenizers.sentence_piece_encoder import SentencePieceEncoder
from tests.tokenizers.conftest import hostile_texts


def test_splits_of_lengths():
    assert splits_of_lengths([]).tolist() == [0]
    assert splits_of_lengths(iter([2, 0, 3])).tolist() == [0, 2, 2, 5]


def test_expand_ids_against_lists():
    random = np.random.default_rng(0)
    table = {3: [7, 8], 5: [], 6: [1, 2, 3], 9: [3]}
    rows = [random.integers(0, 10, n).tolist() for n in (4, 0, 1, 30, 0)]
    expected = [
        [i for old in row for i in table.get(old, [old])] for row in rows
    ]
    place = np.full(10, -1)
    place[list(table)] = range(4)
    flat = np.concatenate(rows).astype("int64")

    ids, splits = expand_ids(
        flat,
        splits_of_lengths(map(len, rows)),
        place[flat],
        np.array([i for row in table.values() for i in row]),
        splits_of_lengths(map(len, table.values())),
    )

    found = [part.tolist() for part in np.split(ids, splits[1:-1])]
    assert found == expected
    assert (ids.dtype, splits.dtype) == ("int32", "int64")


def test_expand_ids_with_nothing_to_do():
    ids, splits = np.arange(3), np.array([0, 3])
    nothing = np.full(3, -1)

    found = expand_ids(ids, splits, nothing, np.zeros(0, "int32"), np.zeros(1))

    assert found[0].tolist() == [0, 1, 2]
    assert found[0].dtype == "int32"
    assert found[1].tolist() == [0, 3]


@pytest.mark.parametrize("special_tokens_in_strings", [False, True])
def test_arrays_hold_the_rows(tiny_proto, special_tokens_in_strings):
    encoder = SentencePieceEncoder(
        tiny_proto, special_tokens_in_strings=special_tokens_in_strings
    )
    texts = [*hostile_texts(200), "", "[MASK][MASK]", "[CLS] the 3,[SEP]"]

    ids, splits = encoder.encode_to_arrays(texts)

    one_by_one = [encoder.encode_batch([text])[0] for text in texts]
    assert [part.tolist() for part in np.split(ids, splits[1:-1])] == one_by_one
    assert (ids.dtype, splits.dtype) == ("int32", "int64")
    assert splits[-1] == len(ids)


@pytest.mark.parametrize("special_tokens_in_strings", [False, True])
def test_no_texts(tiny_proto, special_tokens_in_strings):
    encoder = SentencePieceEncoder(
        tiny_proto, special_tokens_in_strings=special_tokens_in_strings
    )

    ids, splits = encoder.encode_to_arrays([])

    assert (ids.shape, splits.tolist()) == ((0,), [0])
    assert encoder.encode_batch([]) == []


def test_special_tokens_that_are_missing():
    with pytest.raises(ValueError, match=r"X lacks .* b, c \(it has 2"):
        find_special_ids(["a", "d"], ("a", "b", "c"), "X")
