"""Options inside a model file, which every SentencePiece still reads."""

import sentencepiece
import tensorflow_text as tf_text
from sentencepiece import sentencepiece_model_pb2

from keras_albert.tokenizers.stored_options import append_options
from keras_albert.tokenizers.stored_options import read_options

OPTIONS = {"lowercase": False, "note": "é" * 200}


def test_what_is_stored_is_read(tiny_proto):
    stored = append_options(tiny_proto, OPTIONS)

    assert read_options(stored) == OPTIONS
    assert read_options(append_options(stored, {"a": 1})) == {"a": 1}


def test_a_model_without_options(tiny_proto):
    assert read_options(tiny_proto) == {}
    assert read_options(b"") == {}


def test_other_programs_read_the_model_as_before(tiny_proto):
    stored = append_options(tiny_proto, OPTIONS)
    text = "the cat sat on 1,000, mats"
    expected = sentencepiece.SentencePieceProcessor(
        model_proto=tiny_proto
    ).encode(text)

    python = sentencepiece.SentencePieceProcessor(model_proto=stored)
    graph = tf_text.SentencepieceTokenizer(stored)
    parsed = sentencepiece_model_pb2.ModelProto.FromString(stored)

    assert python.encode(text) == expected
    assert graph.tokenize(text).numpy().tolist() == expected
    assert read_options(parsed.SerializeToString()) == OPTIONS
