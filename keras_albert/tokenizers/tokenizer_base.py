"""What the SentencePiece and the WordPiece tokenizer have in common.

A tokenizer encodes along two paths: `encode_batch`, plain Python, for eager
calls and for building a corpus, which is the work of its `encoder`; and
`tokenize_graph`, TensorFlow operations, for `tf.data` and for export. Both
give the same ids.
"""

import numpy as np
from keras_hub.src.utils.tensor_utils import convert_to_numpy
from keras_hub.src.utils.tensor_utils import preprocessing_function

from keras_albert.tokenizers.encoder_base import SPECIAL_TOKEN_NAMES
from keras_albert.tokenizers.encoder_base import find_special_ids
from keras_albert.tokenizers.encoder_base import special_pattern
from keras_albert.tokenizers.graph_normalization import replace_invalid_utf8


class AlbertTokenizerBase:
    """Mixed into a keras-hub tokenizer, before it in the list of bases.

    A subclass gives `_make_encoder()`, the graph's
    `_encode_text_graph(string tensor)`, and `_options()`, and forgets
    `_encoder` when its vocabulary changes.
    """

    _encoder = None

    def _add_special_tokens(self, pad, unk, cls, sep, mask):
        self._add_special_token(pad, "pad_token")
        self._add_special_token(unk, "unk_token")
        self._add_special_token(cls, "cls_token")
        self._add_special_token(sep, "sep_token")
        self._add_special_token(mask, "mask_token")
        # The names that keras-hub's packers and samplers ask for.
        self._add_special_token(cls, "start_token")
        self._add_special_token(sep, "end_token")

    def _update_special_token_ids(self):
        """Checks that all special tokens exist, each with an id of its own."""
        tokens = self._special_token_names()
        find_special_ids(self.get_vocabulary(), tokens, type(self).__name__)
        super()._update_special_token_ids()
        ids = [getattr(self, f"{n}_token_id") for n in SPECIAL_TOKEN_NAMES]
        if len(set(ids)) < len(ids):
            raise ValueError(
                "The special tokens must have different ids. Received: "
                f"{dict(zip(tokens, ids, strict=True))}."
            )

    def _special_token_names(self):
        return [getattr(self, f"{name}_token") for name in SPECIAL_TOKEN_NAMES]

    @property
    def encoder(self):
        """The part that turns texts into ids in plain Python."""
        self._check_vocabulary()
        if self._encoder is None or self._encoder.options != self._options():
            self._encoder = self._make_encoder()
        return self._encoder

    @property
    def special_token_ids(self):
        """Sorted int32 array: ids that are no text, never masked or drawn."""
        return self.encoder.special_token_ids

    @property
    def replacement_ids(self):
        """Sorted int32 array: ids that masking may put at random."""
        return self.encoder.replacement_ids

    @property
    def word_starts(self):
        """Bool array, one entry per id: whether the piece starts a word."""
        return self.encoder.word_starts

    def fingerprint(self):
        """Hashes what decides the ids: vocabulary, normalisation, options.

        Returns:
            SHA-256 as a hexadecimal string.
        """
        return self.encoder.fingerprint()

    def encode_batch(self, texts):
        """Turns texts into token ids in plain Python.

        Args:
            texts: list of strings (or of UTF-8 bytes).

        Returns:
            A list of lists of int, without [CLS], [SEP] or padding.
        """
        return self.encoder.encode_batch(texts)

    def tokenize_graph(self, strings):
        """Turns texts into token ids with TensorFlow operations.

        All operations exist in TensorFlow Serving since TF Text 2.12. The ids
        equal those of `encode_batch`, but for texts that SentencePiece can
        split in two ways of exactly the same score, such as long runs of one
        letter: its release inside TF Text may take the other one.

        Args:
            strings: string tensor of shape `(batch_size,)`.

        Returns:
            `tf.RaggedTensor` of shape `(batch_size, None)`, int32.
        """
        import tensorflow as tf

        self._check_vocabulary()
        # AutoGraph would rewrite the loops that make the tables, at a cost of
        # half a minute; there is no data-dependent control flow here.
        encode = (
            self._encode_with_special_graph
            if self.special_tokens_in_strings
            else self._encode_text_graph
        )
        encode = tf.autograph.experimental.do_not_convert(encode)
        return encode(replace_invalid_utf8(strings))

    def _encode_with_special_graph(self, strings):
        import tensorflow as tf

        # A byte that no UTF-8 holds marks the borders. TF Text's own
        # `regex_split` loses what follows a zero byte.
        border = b"\xff"
        parts = tf.strings.split(
            tf.strings.regex_replace(
                strings,
                special_pattern(self._special_token_names()),
                border + rb"\0" + border,
            ),
            border,
        )
        texts, ids = zip(*self._special_ids_by_text().items(), strict=True)
        equal = tf.equal(parts.flat_values[:, None], tf.constant(texts))
        is_special = tf.reduce_any(equal, 1)
        special = tf.gather(tf.constant(ids), tf.argmax(equal, 1))
        special = tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(special, is_special),
            tf.cast(is_special, "int64"),
            validate=False,
        )
        plain = tf.where(is_special, "", parts.flat_values)
        tokens = tf.concat([special, self._encode_text_graph(plain)], 1)
        return parts.with_flat_values(tokens).merge_dims(1, 2)

    def _special_ids_by_text(self):
        ids = (getattr(self, f"{n}_token_id") for n in SPECIAL_TOKEN_NAMES)
        return dict(zip(self._special_token_names(), ids, strict=True))

    def tokenize(self, inputs):
        """Turns strings into token ids.

        Args:
            inputs: a string, a list of strings, or a string tensor.

        Returns:
            Token ids: a list of lists, or an array when the input is one
            string or `sequence_length` is set. Inside `tf.data` and
            `tf.function` a ragged tensor, or a dense one in the same cases.
        """
        self._check_vocabulary()
        if self._use_tf_workflow():
            return self._tokenize_tf(inputs)
        return self._tokenize_python(inputs)

    def _tokenize_python(self, inputs):
        texts, batched = _as_texts(inputs)
        rows = self.encode_batch(texts)
        if self._gives_strings():
            vocabulary, pad = self.get_vocabulary(), self.pad_token
            rows = [[vocabulary[i] for i in row] for row in rows]
        else:
            pad = self.pad_token_id
        length = self.sequence_length
        if length:
            rows = [
                row[:length] + [pad] * (length - len(row[:length]))
                for row in rows
            ]
        if not batched:
            rows = rows[0]
        dense = length or not batched
        if dense and not self._gives_strings():
            return np.array(rows, self.compute_dtype)
        return rows

    @preprocessing_function
    def _tokenize_tf(self, inputs):
        import tensorflow as tf

        if isinstance(inputs, tf.RaggedTensor):
            tokens = inputs.with_flat_values(
                self._tokenize_flat(inputs.flat_values)
            )
        else:
            inputs = tf.convert_to_tensor(inputs)
            tokens = self._tokenize_flat(tf.reshape(inputs, [-1]))
            for axis in range(inputs.shape.rank - 1, 0, -1):
                tokens = tf.RaggedTensor.from_uniform_row_length(
                    tokens, tf.shape(inputs, "int64")[axis]
                )
        if self.sequence_length:
            pad = self.pad_token if self._gives_strings() else self.pad_token_id
            shape = [None] * (tokens.shape.rank - 1) + [self.sequence_length]
            tokens = tokens.to_tensor(pad, shape=shape)
        if inputs.shape.rank == 0:
            tokens = tokens[0]
        return tokens

    def _tokenize_flat(self, strings):
        import tensorflow as tf

        tokens = self.tokenize_graph(strings)
        if self._gives_strings():
            vocabulary = tf.constant(self.get_vocabulary())
            return tf.ragged.map_flat_values(tf.gather, vocabulary, tokens)
        return tf.cast(tokens, self.compute_dtype)

    def _gives_strings(self):
        return "string" in str(self.compute_dtype)


def _as_texts(inputs):
    """Returns `(list of strings or bytes, whether it was a batch)`."""
    if isinstance(inputs, str | bytes):
        return [inputs], False
    if not isinstance(inputs, list | tuple):
        inputs = convert_to_numpy(inputs)
        if inputs.ndim == 0:
            return [inputs.item()], False
        inputs = inputs.tolist()
    wrong = [x for x in inputs if not isinstance(x, str | bytes)]
    if wrong:
        raise ValueError(
            "A tokenizer takes a string, or a list or 1-D tensor of strings. "
            f"Received an element {wrong[0]!r} of type "
            f"{type(wrong[0]).__name__}."
        )
    return list(inputs), True
