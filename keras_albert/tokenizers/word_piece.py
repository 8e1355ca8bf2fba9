"""The WordPiece tokenizer of the Chinese ALBERT models.

The steps are those of `WordPieceEncoder`; here they also become TensorFlow
operations, and a Keras layer.
"""

import functools
import os
import unicodedata

import keras
from keras.src.saving.serialization_lib import in_safe_mode
from keras_hub.tokenizers import WordPieceTokenizer

from keras_albert.tokenizers import graph_normalization
from keras_albert.tokenizers import word_splitting
from keras_albert.tokenizers.tokenizer_base import AlbertTokenizerBase
from keras_albert.tokenizers.word_piece_encoder import MAX_CHARACTERS_PER_WORD
from keras_albert.tokenizers.word_piece_encoder import SPECIAL_TOKENS
from keras_albert.tokenizers.word_piece_encoder import SUFFIX
from keras_albert.tokenizers.word_piece_encoder import WordPieceEncoder
from keras_albert.tokenizers.word_piece_encoder import check_pieces
from keras_albert.tokenizers.word_piece_encoder import read_pieces


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
        self._add_special_tokens(*SPECIAL_TOKENS)
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
        self._encoder = None
        self._graph_splitter = None
        if isinstance(vocabulary, os.PathLike):
            vocabulary = os.fspath(vocabulary)
        if isinstance(vocabulary, str) and not in_safe_mode():
            vocabulary = read_vocabulary(vocabulary)
        if isinstance(vocabulary, list | tuple):
            check_pieces(vocabulary)
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

    def _options(self):
        return {
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "split_on_cjk": self.split_on_cjk,
            "special_tokens_in_strings": self.special_tokens_in_strings,
        }

    def _splitting_options(self):
        return self.lowercase, self.strip_accents, self.split_on_cjk

    def _make_encoder(self):
        return WordPieceEncoder(self.vocabulary, **self._options())

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
    with open(path, "rb") as file:
        return read_pieces(file.read(), path)


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
            character = graph_normalization.lower_except_sigma(character)
        if strip_accents:
            character = unicodedata.normalize("NFD", character)
            character = "".join(
                c for c in character if not word_splitting.is_accent(c)
            )
        return "".join(
            f" {c} " if word_splitting.is_punctuation(c) else c
            for c in character
        )

    table = graph_normalization.character_table(replacement)
    removed = graph_normalization.character_class(word_splitting.is_removed)
    space = graph_normalization.character_class(word_splitting.is_space)
    blocks = (
        rf"\x{{{a:X}}}-\x{{{b:X}}}" for a, b in word_splitting.CHINESE_BLOCKS
    )
    chinese = f"[{''.join(blocks)}]"

    def split(text):
        import tensorflow as tf

        text = tf.strings.regex_replace(text, removed, "")
        text = tf.strings.regex_replace(text, f"{space}+", " ")
        if split_on_cjk:
            text = tf.strings.regex_replace(text, chinese, r" \0 ")
        if lowercase:
            # While the neighbours still stand beside the sigmas.
            text = graph_normalization.lower_sigma(text)
        text = graph_normalization.map_characters(
            text, table, decompose_hangul=strip_accents
        )
        text = tf.strings.regex_replace(text, " +", " ")
        text = tf.strings.regex_replace(text, "^ | $", "")
        words = tf.strings.split(text, " ")
        # An empty text splits into one empty word.
        return tf.ragged.boolean_mask(words, words != "")

    return split
