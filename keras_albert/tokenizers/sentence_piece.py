"""The SentencePiece tokenizer of the English ALBERT models.

The steps are those of `SentencePieceEncoder`; here they also become TensorFlow
operations, and a Keras layer.
"""

import os

import keras
import numpy as np
from keras.src.saving.serialization_lib import in_safe_mode
from keras_hub.tokenizers import SentencePieceTokenizer

from keras_albert.tokenizers import graph_normalization
from keras_albert.tokenizers.encoder_base import complete_options
from keras_albert.tokenizers.sentence_piece_encoder import SPECIAL_TOKENS
from keras_albert.tokenizers.sentence_piece_encoder import SentencePieceEncoder
from keras_albert.tokenizers.sentence_piece_encoder import check_model
from keras_albert.tokenizers.sentence_piece_encoder import (
    without_typed_special_tokens,
)
from keras_albert.tokenizers.stored_options import read_options
from keras_albert.tokenizers.tokenizer_base import AlbertTokenizerBase


@keras.saving.register_keras_serializable("keras_albert")
class AlbertTokenizer(AlbertTokenizerBase, SentencePieceTokenizer):
    """Turns text into ids as Google's English ALBERT models expect.

    The tokenizer owns its whole normalisation, so raw text goes in. Special
    tokens typed by a user are ordinary text unless asked otherwise.

    Args:
        proto: string, path or bytes. A SentencePiece model: the name of its
            file, or the content. It must hold `<pad>`, `<unk>`, `[CLS]`,
            `[SEP]` and `[MASK]`.
        sequence_length: int. If set, rows are cut and padded to this length.
            Defaults to `None`.
        lowercase: bool. Whether to lower-case. Defaults to what
            `train_tokenizer` stored in the model, else to `True`; so do the
            next three.
        strip_accents: bool. Whether to apply NFKD and drop combining
            characters.
        collapse_whitespace: bool. Whether runs of white space count as one
            space.
        split_digit_comma: bool. Whether a piece that ends in a digit and a
            comma is split before the comma.
        unify_quotes: bool. Whether two backticks or two apostrophes become a
            double quote, as Hugging Face's tokenizers have it. Defaults to
            what is stored in the model, else to `False`.
        special_tokens_in_strings: bool. Whether `[CLS]`, `[SEP]`, `[MASK]`,
            `<pad>` and `<unk>` typed in a text become these tokens. Defaults
            to `False`.
        dtype: string. `"int32"`, another integer type, or `"string"` for
            pieces. Defaults to `"int32"`.
        **kwargs: other arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: a string, a list of strings, or a string tensor.

    Returns:
        Token ids without `[CLS]` and `[SEP]`; see `tokenize`.

    Raises:
        ValueError: if `proto` is no SentencePiece model or lacks one of the
            special tokens.

    Example:

    ```python
    tokenizer = keras_albert.tokenizers.AlbertTokenizer("spiece.model")
    tokenizer(["Héllo world", "In 92,000 cases"])
    ```

    Reference:
        `preprocess_text` and `encode_pieces` in Google's ALBERT,
        `tokenization.py`.
    """

    def __init__(
        self,
        proto=None,
        sequence_length=None,
        lowercase=None,
        strip_accents=None,
        collapse_whitespace=None,
        split_digit_comma=None,
        unify_quotes=None,
        special_tokens_in_strings=False,
        dtype="int32",
        **kwargs,
    ):
        self._add_special_tokens(*SPECIAL_TOKENS)
        super().__init__(
            proto=proto,
            sequence_length=sequence_length,
            dtype=dtype,
            add_bos=False,
            add_eos=False,
            **kwargs,
        )
        self._given_options = {
            "lowercase": lowercase,
            "strip_accents": strip_accents,
            "collapse_whitespace": collapse_whitespace,
            "split_digit_comma": split_digit_comma,
            "unify_quotes": unify_quotes,
            "special_tokens_in_strings": special_tokens_in_strings,
        }
        self._settle_options()

    def _settle_options(self):
        """Takes each option from the arguments, else the model, else ours."""
        stored = read_options(self.proto) if self.proto else {}
        given = {k: v for k, v in self._given_options.items() if v is not None}
        options = complete_options(
            type(self).__name__,
            SentencePieceEncoder.default_options,
            {**stored, **given},
        )
        for name, value in options.items():
            setattr(self, name, value)

    def set_proto(self, proto):
        """Sets the SentencePiece model, from a file's name or its bytes."""
        self._encoder = None
        self._graph_normalizer = None
        if isinstance(proto, os.PathLike):
            proto = os.fspath(proto)
        is_file = isinstance(proto, str) and os.path.isfile(proto)
        if is_file and not in_safe_mode():
            with open(proto, "rb") as file:
                content = file.read()
            check_model(content, proto)
            proto = content
        elif isinstance(proto, bytes):
            check_model(proto, "the given bytes")
        super().set_proto(proto)
        if hasattr(self, "_given_options"):
            self._settle_options()

    def _set_proto_tf(self, proto):
        self._sentence_piece = self._make_sentence_piece_tf(proto)

    def _make_sentence_piece_tf(self, proto):
        import tensorflow_text as tf_text

        # Ids, whatever comes out in the end: the rule for commas needs them.
        return tf_text.SentencepieceTokenizer(
            without_typed_special_tokens(proto), out_type="int32"
        )

    def _set_proto_spm(self, proto):
        super()._set_proto_spm(without_typed_special_tokens(proto))

    def save_assets(self, dir_path):
        """Writes the SentencePiece model into a folder."""
        self._check_vocabulary()
        super().save_assets(dir_path)

    def _options(self):
        return {
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "collapse_whitespace": self.collapse_whitespace,
            "split_digit_comma": self.split_digit_comma,
            "unify_quotes": self.unify_quotes,
            "special_tokens_in_strings": self.special_tokens_in_strings,
        }

    def _normalization_options(self):
        return (
            self.lowercase,
            self.strip_accents,
            self.collapse_whitespace,
            self.unify_quotes,
        )

    def _make_encoder(self):
        return SentencePieceEncoder(
            self.proto, num_threads=-1, **self._options()
        )

    def _encode_text_graph(self, strings):
        import tensorflow as tf

        if self._graph_normalizer is None:
            self._graph_normalizer = graph_normalization.graph_normalizer(
                *self._normalization_options()
            )
        # Made here, so that it belongs to the graph being traced: one made
        # earlier is lost when a seed is set, which clears TensorFlow's cache
        # of kernels and the model with it.
        sentence_piece = self._make_sentence_piece_tf(self.proto)
        tokens = sentence_piece.tokenize(self._graph_normalizer(strings))
        flat, splits = graph_normalization.replace_by_table(
            tokens.flat_values,
            tokens.row_splits,
            _as_arrays(self.encoder.digit_commas),
        )
        return tf.RaggedTensor.from_row_splits(flat, splits, validate=False)

    def get_config(self):
        """Returns the arguments, without the vocabulary, which is an asset."""
        config = super().get_config()
        del config["add_bos"], config["add_eos"]
        # Without a model, what it will say is not known yet.
        options = self._options() if self.proto else self._given_options
        return {**config, **options}


def _as_arrays(table):
    codes = sorted(table)
    rows = [table[code] for code in codes]
    splits = np.cumsum([0, *map(len, rows)])
    values = [value for row in rows for value in row]
    return tuple(np.array(a, "int32") for a in (codes, splits, values))
