"""The WordPiece encoder: batches, known words, bad vocabularies."""

import gzip
import json

import pytest

from keras_albert.tokenizers import word_piece_encoder
from keras_albert.tokenizers.word_piece_encoder import WordPieceEncoder
from keras_albert.tokenizers.word_piece_encoder import read_pieces
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.google_tokenizers import encode_chinese


def test_google_s_steps(tiny_vocabulary):
    texts = [*hostile_texts(500, seed=9), "anna\nan", "\n", "x\r\n你"]

    found = WordPieceEncoder(tiny_vocabulary).encode_batch(texts)

    assert found == [encode_chinese(tiny_vocabulary, text) for text in texts]


def test_recorded_ids(shared_data, golden):
    path = shared_data / "tokenizers" / "bert_zh_vocab.txt"
    encoder = WordPieceEncoder(read_pieces(path.read_bytes(), path))
    with gzip.open(golden / "tokenizer_zh.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]

    found = encoder.encode_batch([row["text"] for row in rows])

    assert found == [row["ids"] for row in rows]


def test_known_words_are_bounded(tiny_vocabulary, monkeypatch):
    monkeypatch.setattr(word_piece_encoder, "MAX_KNOWN_WORDS", 10)
    encoder = WordPieceEncoder(tiny_vocabulary)
    texts = [f"x{number} anna" for number in range(50)]
    expected = WordPieceEncoder(tiny_vocabulary).encode_batch(texts)

    found = [encoder.encode_batch([text])[0] for text in texts]

    assert found == expected
    assert len(encoder._words) <= 12


def test_no_texts_and_empty_texts(tiny_vocabulary):
    encoder = WordPieceEncoder(tiny_vocabulary)

    assert encoder.encode_batch([]) == []
    assert encoder.encode_batch([""]) == [[]]
    assert encoder.encode_batch(["", "an", " "]) == [[], [13], []]


@pytest.mark.parametrize(
    "pieces, message",
    [
        (["an"], "'an' twice, as number 13 and 19"),
        (["a\nb"], "Piece 19 of the vocabulary, .* holds a line break"),
    ],
)
def test_vocabularies_that_are_refused(tiny_vocabulary, pieces, message):
    with pytest.raises(ValueError, match=message):
        WordPieceEncoder([*tiny_vocabulary, *pieces])


def test_content_that_is_not_utf8():
    with pytest.raises(ValueError, match="v.txt is not UTF-8 text"):
        read_pieces(b"\xff", "v.txt")
