"""Two tokenizers are compared by the ids they give."""

import json

import pytest

from keras_albert.conversion.tokenizer_check import TEXTS
from keras_albert.conversion.tokenizer_check import check_tokenizer
from keras_albert.conversion.tokenizer_check import differing_texts
from keras_albert.conversion.tokenizer_files import write_tokenizer
from keras_albert.tokenizers import AlbertTokenizer
from keras_albert.tokenizers import AlbertWordPieceTokenizer
from tests.conversion.published_tokenizers import english_tokenizer


@pytest.fixture
def english(shared_data):
    return english_tokenizer(shared_data)


def test_texts_with_other_ids_are_returned():
    def lengths(texts):
        return [[len(text)] for text in texts]

    def at_most_three(texts):
        return [[min(3, len(text))] for text in texts]

    texts = ["a", "four", "abc"]
    assert differing_texts(lengths, at_most_three, texts) == ["four"]


@pytest.mark.parametrize(
    "options",
    [
        {"lowercase": False},
        {"strip_accents": False},
        {"split_digit_comma": False},
        {"collapse_whitespace": False, "strip_accents": False},
    ],
)
def test_the_texts_tell_every_rule_apart(english, options):
    other = AlbertTokenizer(english.proto, **options)

    assert differing_texts(english.encode_batch, other.encode_batch)
    with pytest.raises(ValueError, match="gives other ids to"):
        check_tokenizer(english, other, ".")


def test_what_transformers_makes_of_it_is_said(english, shared_data, tmp_path):
    pytest.importorskip("tokenizers", reason="their implementation")
    write_tokenizer(english, tmp_path)
    assert check_tokenizer(english, english, tmp_path) == [
        f"Tokenizer: the same ids on {len(TEXTS)} sample texts.",
        "transformers gives the same ids to these texts.",
    ]

    content = json.loads((tmp_path / "tokenizer.json").read_text())
    del content["normalizer"]["normalizers"][2]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    notes = check_tokenizer(english, english, tmp_path)
    assert "other ids to" in notes[1]
    assert "HELLO" in notes[1] or "The quick" in notes[1]


def test_chinese_is_the_same_there_but_for_sigma(shared_data, tmp_path):
    """Python lower-cases a word's last sigma to its final form; theirs not."""
    tokenizers = pytest.importorskip("tokenizers", reason="the other side")
    chinese = AlbertWordPieceTokenizer(
        shared_data / "tokenizers/bert_zh_vocab.txt"
    )
    write_tokenizer(chinese, tmp_path)

    notes = check_tokenizer(chinese, chinese, tmp_path)

    assert "other ids to 1 of 10 sample texts" in notes[1]
    assert "ΣΑΣ" in notes[1]
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = [text.replace("ΣΑΣ", "σας") for text in TEXTS]
    rows = theirs.encode_batch(texts, add_special_tokens=False)
    assert [row.ids for row in rows] == chinese.encode_batch(texts)


def test_without_their_file_nothing_is_said_of_them(english, tmp_path):
    assert len(check_tokenizer(english, english, tmp_path)) == 1
