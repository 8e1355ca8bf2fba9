"""Hugging Face's `tokenizer.json`, judged by its own library."""

import json

import pytest

from keras_albert.tokenizers.encoders import load_encoder
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.tokenizer_json import QUOTES_NOTE
from keras_albert.tokenizers.tokenizer_json import read_tokenizer_json

tokenizers = pytest.importorskip("tokenizers", reason="the other side")

TEXTS = [
    "``the cat'' sat",
    "'''the''''",
    "` `cat' '",
    "a ``` b",
    "\u1fef` the '\uff07",
    '"the"',
]


def with_quotes(proto):
    """A file with the rules that `transformers` 4 writes for an ALBERT."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(proto)
    steps = [
        {"type": "Replace", "pattern": {"String": mark}, "content": '"'}
        for mark in ("``", "''")
    ]
    steps += [{"type": kind} for kind in ("NFKD", "StripAccents", "Lowercase")]
    space = {
        "type": "Metaspace",
        "replacement": "▁",
        "prepend_scheme": "always",
    }
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, space],
        },
        "model": {
            "type": "Unigram",
            "unk_id": 1,
            "vocab": [[piece.piece, piece.score] for piece in model.pieces],
        },
    }


def test_the_rule_for_quotes_is_the_files_on_every_path(tmp_path, tiny_proto):
    content = with_quotes(tiny_proto)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    expected = [row.ids for row in theirs.encode_batch(TEXTS)]

    ours = load_tokenizer(tmp_path)

    assert ours.unify_quotes
    assert ours.encode_batch(TEXTS) == expected
    assert ours.tokenize_graph(TEXTS).to_list() == expected
    assert load_encoder(tmp_path).encode_batch(TEXTS) == expected
    ours.save_to_preset(str(tmp_path / "preset"))
    assert load_tokenizer(tmp_path / "preset").encode_batch(TEXTS) == expected
    as_typed = load_tokenizer(tmp_path, unify_quotes=False)
    assert as_typed.encode_batch(TEXTS) != expected
    assert as_typed.fingerprint() != ours.fingerprint()


def test_the_rule_is_said_and_half_of_it_is_none(tiny_proto):
    content = with_quotes(tiny_proto)
    _, options, notes = read_tokenizer_json(content, "tokenizer.json")
    del content["normalizer"]["normalizers"][0]
    _, half, _ = read_tokenizer_json(content, "tokenizer.json")

    assert QUOTES_NOTE in notes
    assert (options["unify_quotes"], half["unify_quotes"]) == (True, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"model": {"type": "BPE"}}', "kind 'BPE'"),
        ('{"model": {"type"', "damaged or cut off"),
        ("[1, 2]", "damaged or cut off"),
        (
            '{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 7}}}',
            "ids in .* are not 0 to 1",
        ),
        (
            '{"model": {"type": "WordPiece", "vocab": {},'
            ' "continuing_subword_prefix": "@@"}}',
            "inside a word by '@@'",
        ),
    ],
)
def test_what_is_no_tokenizer_is_refused(tmp_path, content, message):
    (tmp_path / "tokenizer.json").write_text(content)

    with pytest.raises(ValueError, match=message):
        load_tokenizer(tmp_path)
