"""The SentencePiece encoder: its tables, its threads, and what it refuses."""

import gzip
import json

import pytest
import sentencepiece

from keras_albert.tokenizers.sentence_piece_encoder import SentencePieceEncoder
from keras_albert.tokenizers.sentence_piece_encoder import _starts_word
from keras_albert.tokenizers.stored_options import append_options
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.google_tokenizers import encode_english


def test_google_s_steps(tiny_proto):
    processor = sentencepiece.SentencePieceProcessor(model_proto=tiny_proto)
    encoder = SentencePieceEncoder(tiny_proto)
    texts = [*hostile_texts(500, seed=9), "5,100, 7,200, cases in 42,"]

    expected = [encode_english(processor, text) for text in texts]

    assert encoder.encode_batch(texts) == expected
    assert encoder.digit_commas, "the model must have such pieces"
    assert not SentencePieceEncoder(
        tiny_proto, split_digit_comma=False
    ).digit_commas


def test_recorded_ids(shared_data, golden):
    model = shared_data / "tokenizers" / "albert_en_30k-clean.rebuilt.model"
    encoder = SentencePieceEncoder(model.read_bytes())
    with gzip.open(golden / "tokenizer_en.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]

    found = encoder.encode_batch([row["text"] for row in rows])

    assert found == [row["ids"] for row in rows]


def test_threads_change_nothing(tiny_proto):
    texts = hostile_texts(300)
    one = SentencePieceEncoder(tiny_proto)
    all_of_them = SentencePieceEncoder(tiny_proto, num_threads=-1)

    assert one.encode_batch(texts) == all_of_them.encode_batch(texts)


def test_word_starts():
    pieces = ["▁the", "▁", "s", "ing", ",", "'", "£", "9", "é", "中", "<unk>"]
    expected = [1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    inside = ["x.y", "s,", "A", "S"]

    assert [_starts_word(p) for p in pieces] == [bool(e) for e in expected]
    assert not any(_starts_word(p) for p in inside)


def test_bytes_that_are_no_model():
    with pytest.raises(ValueError, match="3 bytes that are no SentencePiece"):
        SentencePieceEncoder(b"abc")


def test_options_of_a_newer_release(tiny_proto):
    proto = append_options(tiny_proto, {"turn_around": True})

    with pytest.raises(ValueError, match="has no option turn_around"):
        SentencePieceEncoder(proto)
