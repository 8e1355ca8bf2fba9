"""Texts to ids with a WordPiece vocabulary, in plain Python.

Each different word is cut into pieces once: languages repeat their words.
"""

import functools
from array import array
from itertools import chain

import numpy as np

from keras_albert.tokenizers.encoder_base import EncoderBase
from keras_albert.tokenizers.encoder_base import expand_ids
from keras_albert.tokenizers.encoder_base import splits_of_lengths
from keras_albert.tokenizers.word_splitting import is_chinese
from keras_albert.tokenizers.word_splitting import split_words

SUFFIX = "##"
MAX_CHARACTERS_PER_WORD = 200
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Words kept with their pieces: some 20 MB.
MAX_KNOWN_WORDS = 1 << 17


class WordPieceEncoder(EncoderBase):
    """The encoder of `AlbertWordPieceTokenizer`.

    Args:
        pieces: list of strings. The vocabulary.
        **options: bools, as of `AlbertWordPieceTokenizer`: `lowercase`,
            `strip_accents`, `split_on_cjk` and `special_tokens_in_strings`.

    Raises:
        ValueError: if the vocabulary lacks a special token or lists a piece
            twice, or an option does not exist.

    Example:

    >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "an", "##na"]
    >>> WordPieceEncoder(pieces).encode_batch(["Anna an"])
    [[5, 6, 5]]
    """

    class_name = "AlbertWordPieceTokenizer"
    special_tokens = SPECIAL_TOKENS
    default_options = {
        "lowercase": True,
        "strip_accents": True,
        "split_on_cjk": True,
        "special_tokens_in_strings": False,
    }

    def __init__(self, pieces, **options):
        check_pieces(pieces)
        super().__init__(list(pieces), "\n".join(pieces).encode(), options)
        self._id_of = {piece: i for i, piece in enumerate(pieces)}
        self._words = _WordTable(self._encode_word, len(pieces))

    @functools.cached_property
    def word_starts(self):
        """Bool array, one entry per id: whether the piece starts a word.

        A piece starts a word unless it begins with `##`; `##` and one Chinese
        character, which Chinese whole-word masks use, is a word by itself.
        """
        return np.array([_starts_word(piece) for piece in self._pieces])

    def _is_special(self, token_id):
        piece = self._pieces[token_id]
        # Placeholders such as [unused7] or <S>, too: no text gives them.
        return len(piece) > 2 and (piece[0] + piece[-1]) in ("[]", "<>")

    def _encode_plain(self, texts):
        options = self.options
        steps = (
            options["lowercase"],
            options["strip_accents"],
            options["split_on_cjk"],
        )
        rows = [split_words(text, *steps) for text in texts]
        splits = splits_of_lengths(map(len, rows))
        codes = self._words.codes(chain.from_iterable(rows), splits[-1])
        table_rows = np.maximum(codes - self.vocabulary_size(), -1)
        return expand_ids(codes, splits, table_rows, *self._words.table())

    def _encode_word(self, word):
        """Takes the longest piece that fits, again and again."""
        known = self._id_of
        if len(word) > MAX_CHARACTERS_PER_WORD:
            return [self.unk_token_id]
        if word in known:
            return [known[word]]
        ids, start = [], 0
        while start < len(word):
            prefix = SUFFIX if start else ""
            for end in range(len(word), start, -1):
                token_id = known.get(prefix + word[start:end])
                if token_id is not None:
                    break
            else:
                return [self.unk_token_id]
            ids.append(token_id)
            start = end
        return ids


class _WordTable(dict):
    """Words and their codes: an id, or a row of ids counted after all ids.

    A dict, so that a known word costs one look-up in C.
    """

    def __init__(self, encode, vocabulary_size):
        super().__init__()
        self._encode = encode
        self._vocabulary_size = vocabulary_size
        self._forget()

    def codes(self, words, count):
        """Returns the codes of an iterable of words as an int64 array."""
        if len(self) > MAX_KNOWN_WORDS:
            self._forget()
        return np.fromiter(map(self.__getitem__, words), "int64", count)

    def table(self):
        """Returns the rows, as `(values, splits)` of `expand_ids`."""
        return np.array(self._values), np.array(self._splits)

    def _forget(self):
        self.clear()
        self._values = array("i")
        self._splits = array("q", [0])

    def __missing__(self, word):
        ids = self._encode(word)
        if len(ids) == 1:
            code = ids[0]
        else:
            code = self._vocabulary_size + len(self._splits) - 1
            self._values.extend(ids)
            self._splits.append(len(self._values))
        self[word] = code
        return code


def read_pieces(content, name):
    """Reads a vocabulary with one piece a line.

    Args:
        content: bytes; a list of pieces is returned as it is.
        name: string. What the content is, for the message.

    Returns:
        A list of strings.

    Raises:
        ValueError: if the content is not UTF-8.
    """
    if isinstance(content, list):
        return content
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(
            f"{name} is not UTF-8 text. Expected a vocabulary with one piece "
            "a line."
        ) from None
    while lines and not lines[-1].strip():
        lines.pop()
    # As in Google's `load_vocab`: the first field of a line counts.
    return [(line.split() or [" "])[0] for line in lines]


def check_pieces(pieces):
    """Raises a `ValueError` if a piece stands twice or a special is missing."""
    seen = {}
    for place, piece in enumerate(pieces):
        if piece in seen:
            raise ValueError(
                f"The vocabulary lists {piece!r} twice, as number "
                f"{seen[piece]} and {place}, so that the ids are in doubt. "
                "Remove one of the two, or put a placeholder."
            )
        if "\n" in piece:
            raise ValueError(
                f"Piece {place} of the vocabulary, {piece!r}, holds a line "
                "break, which no file with one piece a line can. Remove it."
            )
        seen[piece] = place
    missing = [token for token in SPECIAL_TOKENS if token not in seen]
    if missing:
        raise ValueError(
            f"The vocabulary of {len(pieces)} pieces lacks the special tokens "
            f"{', '.join(missing)}. Add them, or use AlbertTokenizer if it "
            "was made by SentencePiece."
        )


def _starts_word(piece):
    if not piece.startswith(SUFFIX):
        return True
    rest = piece.removeprefix(SUFFIX)
    return len(rest) == 1 and is_chinese(rest)
