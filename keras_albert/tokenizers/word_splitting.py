"""Splits a text into words and punctuation marks, as Google's BERT does.

Three passes, each one regular expression over the whole text: drop what is no
text, drop accents, and find words. Read `split_words` first.
"""

import functools
import re
import sys
import unicodedata

from keras_albert.tokenizers.normalization import LAST_BASIC
from keras_albert.tokenizers.normalization import character_remover
from keras_albert.tokenizers.normalization import character_set
from keras_albert.tokenizers.normalization import is_basic

# The blocks that Google's code calls Chinese.
CHINESE_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def split_words(text, lowercase=True, strip_accents=True, split_on_cjk=True):
    """Splits a text into words and punctuation marks.

    Args:
        text: string. The raw text.
        lowercase: bool. Whether to lower-case. Defaults to `True`.
        strip_accents: bool. Whether to drop accents. Defaults to `True`.
        split_on_cjk: bool. Whether each Chinese character stands alone.
            Defaults to `True`.

    Returns:
        A list of strings.

    Example:

    >>> split_words("Ça va? 你好")
    ['ca', 'va', '?', '你', '好']

    Reference:
        `BasicTokenizer` in Google's ALBERT, `tokenization.py`.
    """
    if not text.isprintable() or "\ufffd" in text:
        text = _remover(is_removed)(text)
    if lowercase:
        text = text.lower()
    if strip_accents and not text.isascii():
        text = unicodedata.normalize("NFD", text)
        text = _remover(is_accent)(text)
    return _word_pattern(split_on_cjk, is_basic(text)).findall(text)


@functools.cache
def _word_pattern(split_on_cjk, basic):
    last = LAST_BASIC if basic else sys.maxunicode
    alone = character_set(is_punctuation, last)
    if split_on_cjk:
        blocks = [block for block in CHINESE_BLOCKS if block[1] <= last]
        alone += "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in blocks)
    return re.compile(rf"[{alone}]|[^{alone}\s]+")


@functools.cache
def _remover(accept):
    return character_remover(accept)


def is_removed(character):
    """Whether Google's clean-up drops the character."""
    if character in "\t\n\r":
        return False
    category = unicodedata.category(character)
    return category in ("Cc", "Cf") or character == "\ufffd"


def is_space(character):
    """Whether words end at the character."""
    return character.isspace() and not is_removed(character)


def is_punctuation(character):
    """Whether the character is a word by itself wherever it stands.

    All ASCII symbols count, such as `$` and `^`.
    """
    if character.isascii():
        return character.isprintable() and not (
            character.isalnum() or character == " "
        )
    return unicodedata.category(character).startswith("P")


def is_chinese(character):
    """Whether Google's code treats the character as a word."""
    return any(a <= ord(character) <= b for a, b in CHINESE_BLOCKS)


def is_accent(character):
    """Whether the character is dropped with the accents."""
    return unicodedata.category(character) == "Mn"
