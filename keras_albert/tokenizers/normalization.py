"""Text normalisation in Python, the reference: Google's steps, quickly.

Also the sets of characters that these steps and the splitting into words
treat in a special way, as `re` takes them. Read `normalize_text` first.
"""

import functools
import re
import sys
import unicodedata

LAST_BASIC = 0xFFFF
_LARGE = re.compile("[\U00010000-\U0010ffff]")


def normalize_text(
    text,
    lowercase=True,
    strip_accents=True,
    collapse_whitespace=True,
    unify_quotes=False,
):
    """Cleans one text as Google's ALBERT does before SentencePiece.

    Args:
        text: string. The raw text.
        lowercase: bool. Whether to lower-case. Defaults to `True`.
        strip_accents: bool. Whether to decompose characters (NFKD) and drop
            the combining ones. Defaults to `True`.
        collapse_whitespace: bool. Whether runs of white space become one
            space, and none is left at the ends. Defaults to `True`.
        unify_quotes: bool. Whether two backticks or two apostrophes become
            a double quote, as Hugging Face's tokenizers have it. Defaults to
            `False`, as in Google's code.

    Returns:
        The clean string.

    Example:

    >>> normalize_text("  HÉLLO \\t World ")
    'hello world'

    Reference:
        `preprocess_text` in Google's ALBERT, `tokenization.py`.
    """
    if unify_quotes:
        text = text.replace("``", '"').replace("''", '"')
    if collapse_whitespace and not _is_collapsed(text):
        text = " ".join(text.split())
    if strip_accents and not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = _combining_remover()(text)
    return text.lower() if lowercase else text


def _is_collapsed(text):
    """Whether a quick look shows that white space is as it should be."""
    # The one white space character that is printable is the plain space.
    return text.isprintable() and not (
        "  " in text or text.startswith(" ") or text.endswith(" ")
    )


def clean_unicode(text):
    """Turns a string or UTF-8 bytes into a string that UTF-8 can hold.

    Bytes that are not UTF-8, and lone surrogates, become U+FFFD.

    >>> clean_unicode(b"caf\\xff")
    'caf\\ufffd'
    """
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )
    return text


def character_set(accept, last=sys.maxunicode):
    """Writes the characters that `accept` picks as `re` wants them in a class.

    Args:
        accept: function from a character to whether it is in the set.
        last: int. The last code point to list. Defaults to all of them.

    Returns:
        The inside of a character class of `re`.

    Example:

    >>> character_set(lambda c: c in "abcz")
    '\\\\U00000061-\\\\U00000063\\\\U0000007a'
    """
    parts = (
        f"\\U{a:08x}" if a == b else f"\\U{a:08x}-\\U{b:08x}"
        for a, b in character_ranges(accept)
        if b <= last
    )
    return "".join(parts)


def is_basic(text):
    """Whether all characters have code points of 16 bits.

    For those, `re` looks a character up in a bitmap. A class with larger ones
    costs ten times as much for every character, so there are two patterns.
    """
    return text.isascii() or _LARGE.search(text) is None


def character_remover(accept):
    """Makes a function that drops all characters that `accept` picks."""
    pattern = re.compile(f"[{character_set(accept)}]+")
    basic_pattern = re.compile(f"[{character_set(accept, LAST_BASIC)}]+")

    def remove(text):
        return (basic_pattern if is_basic(text) else pattern).sub("", text)

    return remove


def character_ranges(accept):
    """Lists `[first, last]` code points of the characters that are accepted.

    Only characters that some step may change are asked about.
    """
    ranges = []
    for character in filter(accept, changeable_characters()):
        code = ord(character)
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


@functools.cache
def _combining_remover():
    return character_remover(unicodedata.combining)


@functools.cache
def changeable_characters():
    """Characters that any step may treat in a special way.

    Left out are unassigned and private ones, surrogates, and the many letters
    without case or decomposition, which every step leaves alone.
    """
    plain = {"Cn", "Co", "Lo"}
    return tuple(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) not in plain
        or unicodedata.decomposition(character)
        if unicodedata.category(character) != "Cs"
    )
