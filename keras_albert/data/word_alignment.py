"""Word starts from a word segmenter, for languages written without spaces.

The segmenter cuts the sentence as written; the tokenizer's pieces come from
its normalised form, so lengths may differ. Both are brought to one plain form
(no accents, case or spaces) and compared there, character by character.
"""

import re
import unicodedata
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

_MAX_UNKNOWN = 8
_QUOTES = str.maketrans({"`": '"', "'": '"', "“": '"', "”": '"'})


class SegmentedWords:
    """Word starts of token ids, by the words that a segmenter finds.

    Args:
        tokenizer: a tokenizer or an encoder.
        word_segmenter: function from a sentence to its words.
    """

    def __init__(self, tokenizer, word_segmenter: Callable):
        self._tokenizer = tokenizer
        self._segment = word_segmenter
        self._table = np.asarray(tokenizer.word_starts)
        self._pieces = {}
        self.num_unaligned_sentences = 0

    def word_starts(self, sentence: str, token_ids: Sequence[int]):
        """Says which tokens of a sentence start a word.

        Where segmenter and tokenizer disagree about the text, the tokenizer's
        own word starts are kept, and the sentence is counted.

        Args:
            sentence: string.
            token_ids: its ids.

        Returns:
            Bool array of shape `(len(token_ids),)`.
        """
        table = self._table[token_ids]
        pieces = [self._piece(i) for i in token_ids]
        starts = align_word_starts(pieces, self._segment(sentence))
        if starts is None:
            self.num_unaligned_sentences += 1
            return table
        # A segmenter for one script may cut words of another into letters.
        return table & np.array(starts, "bool")

    def _piece(self, token_id):
        if token_id not in self._pieces:
            piece = None
            if token_id != self._tokenizer.unk_token_id:
                piece = self._tokenizer.id_to_token(token_id)
                piece = piece.replace("▁", "").removeprefix("##")
            self._pieces[token_id] = piece
        return self._pieces[token_id]


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
