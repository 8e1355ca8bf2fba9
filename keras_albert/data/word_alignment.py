"""Word starts from a word segmenter, for languages written without spaces.

The segmenter cuts the sentence as written; the tokenizer's pieces come from
its normalised form, so lengths may differ. Both are brought to one plain form
(no accents, case or spaces) and compared there, character by character.
"""

import re
import unicodedata
from collections.abc import Iterable
from collections.abc import Sequence

_MAX_UNKNOWN = 8
_QUOTES = str.maketrans({"`": '"', "'": '"', "“": '"', "”": '"'})


def align_word_starts(
    pieces: Sequence[str | None], words: Iterable[str]
) -> list[bool] | None:
    """Says which pieces start a word of the segmenter.

    A piece that begins inside a word continues it, even when it reaches into
    the next word: then both words are one, so that no word is ever half
    masked.

    Args:
        pieces: The sentence's pieces, without any sign for word starts;
            `None` for an unknown piece, which may stand for any characters.
        words: The sentence's words, in order.

    Returns:
        A list of bools, one for each piece; `None` if pieces and words do not
        spell the same text.

    Example:

    >>> align_word_starts(["北", "京", "大学"], ["北京", "大学"])
    [True, False, True]
    """
    words = [_plain(word) for word in words]
    text = "".join(words)
    lengths = _piece_lengths(pieces, text)
    if lengths is None:
        return None
    starts = set()
    place = 0
    for word in words:
        starts.add(place)
        place += len(word)
    flags = []
    place = 0
    previous = -1
    for length in lengths:
        # A piece of no characters (a lone "▁") belongs to what follows it.
        flags.append(place in starts and place != previous)
        previous = place
        place += length
    return flags


def _piece_lengths(pieces, text):
    """Lengths of the pieces in the plain text; None if they differ."""
    if None not in pieces:
        plain = [_plain(piece) for piece in pieces]
        return list(map(len, plain)) if "".join(plain) == text else None
    if sum(piece is None for piece in pieces) > _MAX_UNKNOWN:
        return None  # the search below could take very long
    pattern = "".join(
        "(.+?)" if piece is None else f"({re.escape(_plain(piece))})"
        for piece in pieces
    )
    match = re.fullmatch(pattern, text)
    return [len(group) for group in match.groups()] if match else None


def _plain(text):
    if text.isascii():
        kept = "".join(text.split())
    else:
        kept = "".join(
            character
            for character in unicodedata.normalize("NFKD", text)
            if unicodedata.category(character)[0] not in "CZ"
            and not unicodedata.combining(character)
        )
    return kept.lower().translate(_QUOTES).replace('""', '"')
