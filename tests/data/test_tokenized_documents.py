import dataclasses
import hashlib

import numpy as np
import pytest

from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import concatenate
from keras_albert.data.tokenized_documents import from_bytes
from keras_albert.data.tokenized_documents import identity_of
from keras_albert.data.tokenized_documents import offsets_of
from keras_albert.data.tokenized_documents import piece_dtype
from keras_albert.data.tokenized_documents import shards_of
from keras_albert.data.tokenized_documents import to_bytes


def documents_of(rows):
    """Makes documents of `(identity, list of lists of pieces)`."""
    sentences = [s for _, document in rows for s in document]
    return TokenizedDocuments(
        identities=np.array([identity for identity, _ in rows], "int64"),
        document_offsets=offsets_of([len(d) for _, d in rows]),
        sentence_offsets=offsets_of([len(s) for s in sentences]),
        pieces=np.array([p for s in sentences for p in s], "uint16"),
    )


def rows_of(documents):
    """The opposite of `documents_of`."""
    sentences = np.split(documents.pieces, documents.sentence_offsets[1:-1])
    sentences = [sentence.tolist() for sentence in sentences]
    borders = documents.document_offsets
    return [
        (int(identity), sentences[start:stop])
        for identity, start, stop in zip(
            documents.identities, borders, borders[1:], strict=False
        )
    ]


ROWS = [(5, [[1, 2], [3]]), (-7, [[4]]), (9, [[5], [6, 7, 8], [9]])]


def test_pieces_hold_ids_and_word_starts():
    documents = documents_of([(0, [[2 * 7 + 1, 2 * 9]])])

    assert documents.token_ids.tolist() == [7, 9]
    assert documents.word_starts.tolist() == [True, False]
    assert documents.word_starts.dtype == bool


def test_documents_are_picked_in_any_order():
    taken = documents_of(ROWS).take(np.array([2, 0]))

    assert rows_of(taken) == [ROWS[2], ROWS[0]]
    assert (taken.num_documents, taken.num_sentences) == (2, 5)
    assert taken.num_tokens == 8


def test_no_documents_may_be_picked():
    taken = documents_of(ROWS).take(np.array([], "int64"))

    assert (taken.num_documents, taken.num_tokens) == (0, 0)
    assert taken.document_offsets.tolist() == [0]


def test_parts_are_put_together():
    documents = documents_of(ROWS)
    parts = [documents.take(np.array([i])) for i in (1, 2, 0)]

    together = concatenate(parts)

    assert rows_of(together) == [ROWS[1], ROWS[2], ROWS[0]]


def test_documents_are_sorted_by_identity():
    assert rows_of(documents_of(ROWS).by_identity()) == sorted(ROWS)


def test_equal_identities_are_sorted_by_content():
    rows = [(3, [[2], [1]]), (1, [[9]]), (3, [[1, 2]]), (3, [[2, 1]]), (4, [])]

    orders = (rows, rows[::-1], rows[2:] + rows[:2])
    results = [rows_of(documents_of(o).by_identity()) for o in orders]

    assert results[0] == results[1] == results[2]
    assert sorted(results[0]) == sorted(rows)
    assert [identity for identity, _ in results[0]] == [1, 3, 3, 3, 4]


def test_identities_are_hashes_of_the_text():
    text = "A title.\n好。"
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()

    assert identity_of(text) == np.frombuffer(digest, "<i8")[0]
    assert identity_of(text) != identity_of(text + " ")


def test_shards_are_filled_evenly():
    identities = np.array([identity_of(str(i)) for i in range(10_000)])

    shards = shards_of(identities, 8)

    counts = np.bincount(shards, minlength=8)
    assert len(counts) == 8
    assert abs(counts - 1250).max() < 5 * 1250**0.5


def test_pieces_take_as_few_bytes_as_the_vocabulary_allows():
    largest = 2 * (32768 - 1) + 1

    assert np.iinfo(piece_dtype(32768)).max >= largest
    assert piece_dtype(32768) == "uint16"
    assert piece_dtype(32769) == "uint32"


def test_nothing_put_together_is_nothing():
    assert concatenate([]).num_documents == 0
    assert concatenate([]).by_identity().num_tokens == 0


@pytest.mark.parametrize("order", [[0, 1, 2], [2], []])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_documents_travel_as_bytes(order, dtype):
    documents = documents_of(ROWS).take(np.array(order, "int64"))
    pieces = documents.pieces.astype(dtype)
    documents = dataclasses.replace(documents, pieces=pieces)

    arrived = from_bytes(to_bytes(documents))

    assert rows_of(arrived) == rows_of(documents)
    assert arrived.pieces.dtype == dtype
