"""Normalisation in Python, judged by Google's steps."""

import re

import pytest

from keras_albert.tokenizers import normalization
from tests.tokenizers.conftest import every_character
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.google_tokenizers import preprocess_text


@pytest.fixture(scope="module")
def characters():
    return every_character()


def test_known_texts():
    texts = ["  HÉLLO \t World ", "ﬁ ½ Ⅷ", "ΑΣ ΣΑ", "İ STRASSE ß", "\uac01"]

    found = [normalization.normalize_text(text) for text in texts]

    assert found == [
        "hello world",
        "fi 1⁄2 viii",
        "ας σα",
        "i strasse ß",
        "\u1100\u1161\u11a8",
    ]


def test_backtick_quotes_stay():
    assert normalization.normalize_text("``a''") == "``a''"


def test_quotes_of_two_marks_become_one_if_asked():
    texts = ["``a''", "'''b", "` `c'", "````", "\u1fef`d"]
    expected = ['"a"', "\"'b", "` `c'", '""', "``d"]
    found = [normalization.normalize_text(t, unify_quotes=True) for t in texts]
    assert found == expected


@pytest.mark.parametrize(
    "option, expected",
    [
        ("lowercase", "E a"),
        ("strip_accents", "é a"),
        ("collapse_whitespace", " e  a"),
    ],
)
def test_each_option_turns_off_one_step(option, expected):
    off = {option: False}

    assert normalization.normalize_text(" É  a", **off) == expected


@pytest.mark.parametrize(
    "text", ["a b", "a  b", " a", "a ", "a\u00a0b", "a\u3000b", "a\tb", " ", ""]
)
def test_white_space_is_collapsed(text):
    assert normalization.normalize_text(text) == " ".join(text.split())


def test_python_follows_googles_steps_on_every_character(characters):
    found = [normalization.normalize_text(c) for c in characters]

    assert found == [preprocess_text(c) for c in characters]


def test_lone_surrogates_are_replaced():
    assert normalization.clean_unicode("a\ud800b") == "a\ufffdb"


def test_python_follows_googles_steps_on_hostile_texts():
    texts = hostile_texts(20_000, seed=12)

    found = [normalization.normalize_text(t) for t in texts]

    assert found == [preprocess_text(t) for t in texts]


@pytest.mark.parametrize("last", [0x10FFFF, 0xFFFF])
def test_character_set_holds_what_it_should(last):
    accepted = "xyz\x00\U0001f600"

    inside = normalization.character_set(lambda c: c in accepted, last)

    found = re.sub(f"[{inside}]", "_", "w\x00x😀z")
    assert found == ("w____" if last > 0xFFFF else "w__😀_")


@pytest.mark.parametrize("text", ["a\u0301b", "😀a\u0301", "a\U0001d165b"])
def test_character_remover(text):
    remove = normalization.character_remover(lambda c: c in "\u0301\U0001d165")

    assert remove(text) in ("ab", "😀a")
