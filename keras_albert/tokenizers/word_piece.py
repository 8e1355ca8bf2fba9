"""The WordPiece tokenizer of the Chinese ALBERT models.

The splitting into words is Google's, exactly; the pieces of a word come from
TF Text's fast WordPiece in a graph and from the same greedy search in Python.
"""

import functools
import os
import unicodedata

import keras
import numpy as np
from keras.src.saving.serialization_lib import in_safe_mode
from keras_hub.tokenizers import WordPieceTokenizer

from keras_albert.tokenizers import normalization
from keras_albert.tokenizers.tokenizer_base import AlbertTokenizerBase

SUFFIX = "##"
MAX_CHARACTERS_PER_WORD = 200
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


@keras.saving.register_keras_serializable("keras_albert")
class AlbertWordPieceTokenizer(AlbertTokenizerBase, WordPieceTokenizer):
    """Turns text into ids as Google's Chinese ALBERT models expect.

    The tokenizer owns its whole normalisation, so raw text goes in. Special
    tokens typed by a user are ordinary text unless asked otherwise.

    Args:
        vocabulary: string, path or list of strings. The name of a file with
            one piece a line, or the pieces. It must hold `[PAD]`, `[UNK]`,
            `[CLS]`, `[SEP]` and `[MASK]`.
        sequence_length: int. If set, rows are cut and padded to this length.
            Defaults to `None`.
        lowercase: bool. Whether to lower-case. Defaults to `True`.
        strip_accents: bool. Whether to apply NFD and drop non-spacing marks.
            Defaults to `True`.
        split_on_cjk: bool. Whether each Chinese character is a word. Defaults
            to `True`.
        special_tokens_in_strings: bool. Whether special tokens typed in a
            text become these tokens. Defaults to `False`.
        dtype: string. `"int32"`, another integer type, or `"string"` for
            pieces. Defaults to `"int32"`.
        **kwargs: other arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: a string, a list of strings, or a string tensor.

    Returns:
        Token ids without `[CLS]` and `[SEP]`; see `tokenize`.

    Raises:
        ValueError: if the vocabulary lacks a special token or lists a piece
            twice.

    Example:

    >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "an", "##na"]
    >>> AlbertWordPieceTokenizer(pieces)(["Anna an"])
    [[5, 6, 5]]

    Reference:
        `BasicTokenizer` and `WordpieceTokenizer` in Google's ALBERT,
        `tokenization.py`. keras-hub's class splits at other characters and
        gives up on words of 100 bytes instead of 200 characters.
    """

    def __init__(
        self,
        vocabulary=None,
        sequence_length=None,
        lowercase=True,
        strip_accents=True,
        split_on_cjk=True,
        special_tokens_in_strings=False,
        dtype="int32",
        **kwargs,
    ):
        self._add_special_tokens("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        super().__init__(
            vocabulary=vocabulary,
            sequence_length=sequence_length,
            lowercase=lowercase,
            strip_accents=strip_accents,
            split=True,
            split_on_cjk=split_on_cjk,
            suffix_indicator=SUFFIX,
            oov_token="[UNK]",
            special_tokens_in_strings=special_tokens_in_strings,
            dtype=dtype,
            **kwargs,
        )

    def set_vocabulary(self, vocabulary):
        """Sets the vocabulary, from a file's name or a list of pieces."""
        self._graph_splitter = None
        if isinstance(vocabulary, os.PathLike):
            vocabulary = os.fspath(vocabulary)
        if isinstance(vocabulary, str) and not in_safe_mode():
            vocabulary = read_vocabulary(vocabulary)
        if isinstance(vocabulary, list | tuple):
            _check_pieces(vocabulary, self._special_token_names())
        super().set_vocabulary(vocabulary)

    def load_assets(self, dir_path):
        """Reads the vocabulary from a folder that `save_assets` wrote."""
        (name,) = self.file_assets
        self.set_vocabulary(read_vocabulary(os.path.join(dir_path, name)))

    def save_assets(self, dir_path):
        """Writes the vocabulary into a folder."""
        self._check_vocabulary()
        super().save_assets(dir_path)

    def _set_vocabulary_tf(self):
        import tensorflow_text as tf_text

        self._fast_word_piece = tf_text.FastWordpieceTokenizer(
            vocab=self.vocabulary,
            token_out_type="int32",
            suffix_indicator=SUFFIX,
            # In bytes; the limit in characters is applied before.
            max_bytes_per_word=4 * MAX_CHARACTERS_PER_WORD,
            unknown_token=self.oov_token,
            no_pretokenization=True,
            support_detokenization=True,
        )

    @property
    def word_starts(self):
        """Bool array, one entry per id: whether the piece starts a word.

        A piece starts a word unless it begins with `##`; `##` and one Chinese
        character, which Chinese whole-word masks use, is a word by itself.
        """
        return np.array([_starts_word(p) for p in self.get_vocabulary()])

    def _is_special(self, token_id):
        piece = self.vocabulary[token_id]
        # Placeholders such as [unused7] or <S>, too: no text gives them.
        return len(piece) > 2 and (piece[0] + piece[-1]) in ("[]", "<>")

    def _options(self):
        return {
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "split_on_cjk": self.split_on_cjk,
            "special_tokens_in_strings": self.special_tokens_in_strings,
        }

    def _splitting_options(self):
        return self.lowercase, self.strip_accents, self.split_on_cjk

    def _vocabulary_bytes(self):
        return "\n".join(self.vocabulary).encode()

    def _encode_text_batch(self, texts):
        options = self._splitting_options()
        return [
            [
                token_id
                for word in split_words(text, *options)
                for token_id in self._encode_word(word)
            ]
            for text in texts
        ]

    def _encode_word(self, word):
        """Takes the longest piece that fits, again and again."""
        known = self._token_to_id_map
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

    def _encode_text_graph(self, strings):
        import tensorflow as tf

        self._maybe_initialized_tf()
        if self._graph_splitter is None:
            self._graph_splitter = graph_word_splitter(
                *self._splitting_options()
            )
        words = self._graph_splitter(strings)
        flat = words.flat_values
        is_long = tf.strings.length(flat, "UTF8_CHAR") > MAX_CHARACTERS_PER_WORD
        flat = tf.where(is_long, self.oov_token, flat)
        pieces = self._fast_word_piece.tokenize(flat)
        return words.with_flat_values(pieces).merge_dims(1, 2)

    def get_config(self):
        """Returns the arguments, without the vocabulary, which is an asset."""
        config = super().get_config()
        for name in ("split", "suffix_indicator", "oov_token"):
            del config[name]
        return {**config, **self._options()}


def read_vocabulary(path):
    """Reads a file with one piece a line.

    Args:
        path: string or path.

    Returns:
        A list of strings.
    """
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not UTF-8 text. Expected a vocabulary with one piece "
            "a line."
        ) from None
    while lines and not lines[-1].strip():
        lines.pop()
    # As in Google's `load_vocab`: the first field of a line counts.
    return [(line.split() or [" "])[0] for line in lines]


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
    text = text.translate(_translation(split_on_cjk))
    if lowercase:
        text = text.lower()
    if strip_accents and not text.isascii():
        text = unicodedata.normalize("NFD", text)
        text = text.translate(_accent_translation())
    return text.translate(_punctuation_translation()).split()


@functools.cache
def graph_word_splitter(lowercase=True, strip_accents=True, split_on_cjk=True):
    """Makes `split_words` as a function of a TensorFlow string tensor.

    Args:
        lowercase: bool. As in `split_words`. Defaults to `True`.
        strip_accents: bool. As in `split_words`. Defaults to `True`.
        split_on_cjk: bool. As in `split_words`. Defaults to `True`.

    Returns:
        A function from a string tensor of shape `(batch_size,)`, valid UTF-8,
        to a ragged string tensor of shape `(batch_size, None)`. It uses core
        TensorFlow operations only. It leaves spacing marks that follow each
        other in a non-standard order (musical notation) as they are typed.
    """

    def replacement(character):
        if lowercase:
            character = normalization.lower_except_sigma(character)
        if strip_accents:
            character = unicodedata.normalize("NFD", character)
            character = "".join(c for c in character if not _is_accent(c))
        return character.translate(_punctuation_translation())

    table = normalization.character_table(replacement)
    removed = normalization.character_class(is_removed)
    space = normalization.character_class(is_space)
    blocks = (rf"\x{{{a:X}}}-\x{{{b:X}}}" for a, b in CHINESE_BLOCKS)
    chinese = f"[{''.join(blocks)}]"

    def split(text):
        import tensorflow as tf

        text = tf.strings.regex_replace(text, removed, "")
        text = tf.strings.regex_replace(text, f"{space}+", " ")
        if split_on_cjk:
            text = tf.strings.regex_replace(text, chinese, r" \0 ")
        if lowercase:
            # While the neighbours still stand beside the sigmas.
            text = normalization.lower_sigma(text)
        text = normalization.map_characters(
            text, table, decompose_hangul=strip_accents
        )
        text = tf.strings.regex_replace(text, " +", " ")
        text = tf.strings.regex_replace(text, "^ | $", "")
        words = tf.strings.split(text, " ")
        # An empty text splits into one empty word.
        return tf.ragged.boolean_mask(words, words != "")

    return split


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


def _is_accent(character):
    return unicodedata.category(character) == "Mn"


def _starts_word(piece):
    if not piece.startswith(SUFFIX):
        return True
    rest = piece.removeprefix(SUFFIX)
    return len(rest) == 1 and is_chinese(rest)


def _check_pieces(pieces, special_tokens):
    seen = {}
    for place, piece in enumerate(pieces):
        if piece in seen:
            raise ValueError(
                f"The vocabulary lists {piece!r} twice, as number "
                f"{seen[piece]} and {place}, so that the ids are in doubt. "
                "Remove one of the two, or put a placeholder."
            )
        seen[piece] = place
    missing = [token for token in special_tokens if token not in seen]
    if missing:
        raise ValueError(
            f"The vocabulary of {len(pieces)} pieces lacks the special tokens "
            f"{', '.join(missing)}. Add them, or use AlbertTokenizer if it "
            "was made by SentencePiece."
        )


class _LazyTranslation(dict):
    """A table for `str.translate` that works out each character once."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, code):
        self[code] = self._function(chr(code))
        return self[code]


@functools.cache
def _translation(split_on_cjk):
    def translate(character):
        if is_removed(character):
            return ""
        if split_on_cjk and is_chinese(character):
            return f" {character} "
        return character

    return _LazyTranslation(translate)


@functools.cache
def _accent_translation():
    return _LazyTranslation(lambda c: "" if _is_accent(c) else c)


@functools.cache
def _punctuation_translation():
    return _LazyTranslation(lambda c: f" {c} " if is_punctuation(c) else c)
