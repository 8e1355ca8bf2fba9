"""The SentencePiece tokenizer of the English ALBERT models.

Normalisation, then SentencePiece, then Google's rule for numbers with commas.
The rule depends on the piece alone, so it is a table made once.
"""

import os

import keras
import numpy as np
import sentencepiece
from keras.src.saving.serialization_lib import in_safe_mode
from keras_hub.tokenizers import SentencePieceTokenizer

from keras_albert.tokenizers import normalization
from keras_albert.tokenizers.tokenizer_base import AlbertTokenizerBase

WORD_START = "▁"
LATIN = set("abcdefghijklmnopqrstuvwxyz")
PUNCTUATION = set('!"#$%&()*+,-./:;?@[\\]^_`{|}~')


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
        lowercase: bool. Whether to lower-case. Defaults to `True`.
        strip_accents: bool. Whether to apply NFKD and drop combining
            characters. Defaults to `True`.
        collapse_whitespace: bool. Whether runs of white space count as one
            space. Defaults to `True`.
        split_digit_comma: bool. Whether a piece that ends in a digit and a
            comma is split before the comma. Defaults to `True`.
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
        lowercase=True,
        strip_accents=True,
        collapse_whitespace=True,
        split_digit_comma=True,
        special_tokens_in_strings=False,
        dtype="int32",
        **kwargs,
    ):
        self._add_special_tokens("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
        super().__init__(
            proto=proto,
            sequence_length=sequence_length,
            dtype=dtype,
            add_bos=False,
            add_eos=False,
            **kwargs,
        )
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.collapse_whitespace = collapse_whitespace
        self.split_digit_comma = split_digit_comma
        self.special_tokens_in_strings = special_tokens_in_strings

    def set_proto(self, proto):
        """Sets the SentencePiece model, from a file's name or its bytes."""
        self._digit_comma = None
        self._graph_normalizer = None
        if isinstance(proto, os.PathLike):
            proto = os.fspath(proto)
        is_file = isinstance(proto, str) and os.path.isfile(proto)
        if is_file and not in_safe_mode():
            with open(proto, "rb") as file:
                content = file.read()
            _check_model(content, proto)
            proto = content
        elif isinstance(proto, bytes):
            _check_model(proto, "the given bytes")
        super().set_proto(proto)

    def _set_proto_tf(self, proto):
        self._sentence_piece = self._make_sentence_piece_tf(proto)

    def _make_sentence_piece_tf(self, proto):
        import tensorflow_text as tf_text

        # Ids, whatever comes out in the end: the rule for commas needs them.
        return tf_text.SentencepieceTokenizer(
            self._without_typed_special_tokens(proto), out_type="int32"
        )

    def _set_proto_spm(self, proto):
        super()._set_proto_spm(self._without_typed_special_tokens(proto))

    def _without_typed_special_tokens(self, proto):
        """Makes control symbols of special tokens that text could produce."""
        names = {*self._special_token_names()} - {self.unk_token}
        processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        ids = [processor.piece_to_id(name) for name in names]
        if all(processor.is_control(i) or processor.is_unknown(i) for i in ids):
            return proto
        from sentencepiece import sentencepiece_model_pb2

        model = sentencepiece_model_pb2.ModelProto.FromString(proto)
        for piece in model.pieces:
            if piece.piece in names:
                piece.type = piece.CONTROL
        return model.SerializeToString()

    def save_assets(self, dir_path):
        """Writes the SentencePiece model into a folder."""
        self._check_vocabulary()
        super().save_assets(dir_path)

    @property
    def word_starts(self):
        """Bool array, one entry per id: whether the piece starts a word.

        A piece starts a word if it starts with a space mark, is one
        punctuation mark, or holds anything but Latin letters and
        punctuation, so that Chinese characters are words by themselves.

        Reference: `_is_start_piece_sp` in Google's
        `create_pretraining_data.py`.
        """
        return np.array([_starts_word(p) for p in self.get_vocabulary()])

    def _is_special(self, token_id):
        processor = self._sentence_piece_spm
        return (
            token_id in (self.pad_token_id, self.mask_token_id)
            or processor.is_control(token_id)
            or processor.is_unknown(token_id)
            or processor.is_unused(token_id)
            or processor.is_byte(token_id)
        )

    def _options(self):
        return {
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "collapse_whitespace": self.collapse_whitespace,
            "split_digit_comma": self.split_digit_comma,
            "special_tokens_in_strings": self.special_tokens_in_strings,
        }

    def _normalization_options(self):
        return self.lowercase, self.strip_accents, self.collapse_whitespace

    def _vocabulary_bytes(self):
        return self.proto

    def _encode_text_batch(self, texts):
        options = self._normalization_options()
        texts = [normalization.normalize_text(t, *options) for t in texts]
        rows = self._sentence_piece_spm.Encode(texts, out_type=int)
        table = self._digit_comma_table()
        return [
            row if table.keys().isdisjoint(row) else _replace(row, table)
            for row in rows
        ]

    def _encode_text_graph(self, strings):
        import tensorflow as tf

        if self._graph_normalizer is None:
            self._graph_normalizer = normalization.graph_normalizer(
                *self._normalization_options()
            )
        # Made here, so that it belongs to the graph being traced: one made
        # earlier is lost when a seed is set, which clears TensorFlow's cache
        # of kernels and the model with it.
        sentence_piece = self._make_sentence_piece_tf(self.proto)
        tokens = sentence_piece.tokenize(self._graph_normalizer(strings))
        flat, splits = normalization.replace_by_table(
            tokens.flat_values,
            tokens.row_splits,
            _as_arrays(self._digit_comma_table()),
        )
        return tf.RaggedTensor.from_row_splits(flat, splits, validate=False)

    def _digit_comma_table(self):
        if self._digit_comma is None:
            self._digit_comma = (
                digit_comma_table(self._sentence_piece_spm)
                if self.split_digit_comma
                else {}
            )
        return self._digit_comma

    def get_config(self):
        """Returns the arguments, without the vocabulary, which is an asset."""
        config = super().get_config()
        del config["add_bos"], config["add_eos"]
        return {**config, **self._options()}


def digit_comma_table(processor):
    """Lists the pieces that Google's rule splits, and into what.

    A piece that ends in a digit and a comma gives way to the pieces of what
    stands before the comma, and the comma.

    Args:
        processor: `sentencepiece.SentencePieceProcessor`.

    Returns:
        A dict from id to the list of ids that take its place.

    Reference:
        `encode_pieces` in Google's ALBERT, `tokenization.py`.
    """
    table = {}
    for token_id in range(processor.vocab_size()):
        piece = processor.id_to_piece(token_id)
        if len(piece) < 2 or piece[-1] != "," or not piece[-2].isdigit():
            continue
        pieces = processor.encode(
            piece[:-1].replace(WORD_START, ""), out_type=str
        )
        # Encoding puts a space mark in front; the piece may have had none.
        if piece[0] != WORD_START and pieces[0][0] == WORD_START:
            pieces[0] = pieces[0][1:]
        pieces = [p for p in pieces if p]
        table[token_id] = [processor.piece_to_id(p) for p in (*pieces, ",")]
    return table


def _check_model(content, name):
    try:
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except RuntimeError:
        raise ValueError(
            f"{name} holds {len(content)} bytes that are no SentencePiece "
            "model. Expected the `.model` file of a SentencePiece training."
        ) from None


def _starts_word(piece):
    return (
        piece.startswith((WORD_START, "<"))
        or piece in PUNCTUATION
        or not {c.lower() for c in piece} <= LATIN | PUNCTUATION
    )


def _replace(row, table):
    return [new for old in row for new in table.get(old, (old,))]


def _as_arrays(table):
    codes = sorted(table)
    rows = [table[code] for code in codes]
    splits = np.cumsum([0, *map(len, rows)])
    values = [value for row in rows for value in row]
    return tuple(np.array(a, "int32") for a in (codes, splits, values))
