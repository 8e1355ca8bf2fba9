"""Words, judged by Google's steps."""

import pytest

from keras_albert.tokenizers.word_splitting import split_words
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.conftest import telling_characters
from tests.tokenizers.google_tokenizers import split_chinese


def test_every_telling_character():
    texts = [f"Σ{c}b" for c in telling_characters()]

    found = [split_words(text) for text in texts]

    assert found == [split_chinese(text) for text in texts]


def test_hostile_texts():
    texts = hostile_texts(5000, seed=11)

    found = [split_words(text) for text in texts]

    assert found == [split_chinese(text) for text in texts]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("中\u0301x", ["中", "x"]),
        ("\u00e9\u4e2d\ufa0e", ["e", "中", "\ufa0e"]),
        ("a\u00adb\x00c", ["abc"]),
        ("$5^2", ["$", "5", "^", "2"]),
        ("", []),
        # A row of characters with code points beyond 16 bits.
        (
            "a\U0001f600\U0002a6d6b\U00010a50c",
            ["a\U0001f600", "\U0002a6d6", "b", "\U00010a50", "c"],
        ),
    ],
)
def test_words_by_hand(text, expected):
    assert split_words(text) == expected
