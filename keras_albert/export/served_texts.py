"""Strings -> the model's inputs, inside the graph."""

import re

import tensorflow as tf

from keras_albert.export.length_groups import LENGTH_MULTIPLE
from keras_albert.tokenizers.graph_normalization import replace_invalid_utf8
from keras_albert.tokenizers.packing import pack_segments

STRINGS = tf.TensorSpec([None], tf.string)
# No UTF-8 text holds this byte.
BORDER = b"\xff"


class ServedTexts:
    """Tokenizes and packs as a preprocessor does, no longer than needed.

    Rows are padded to the longest of the batch, rounded up, so that short
    texts stay cheap.

    Args:
        preprocessor: `AlbertTextClassifierPreprocessor`.
    """

    def __init__(self, preprocessor):
        self._tokenizer = preprocessor.tokenizer
        self._packing_options = preprocessor.packing_options()
        # A function of its own, so that its tables stand in the file once.
        self._tokenize = tf.function(
            self._tokenizer.tokenize_graph,
            input_signature=[STRINGS],
            autograph=False,
        )

    def pack(self, *texts):
        """Packs one text a row, or two.

        Args:
            *texts: one or two string tensors of `batch_size` elements.

        Returns:
            Dict of int32 tensors of shape `(batch_size, length)`.
        """
        return self._packed([self._tokenize(flat(text)) for text in texts])

    def pack_with_masks(self, text):
        """Packs one text a row, in which the mask token may be typed.

        All other special tokens that a text holds stay ordinary text.

        Args:
            text: string tensor of `batch_size` elements.

        Returns:
            Dict of int32 tensors of shape `(batch_size, length)`.
        """
        pattern = re.escape(self._tokenizer.mask_token)
        text = tf.strings.regex_replace(
            replace_invalid_utf8(flat(text)), pattern, BORDER
        )
        parts = tf.strings.split(text, BORDER)
        tokens = self._tokenize(parts.flat_values)
        # A mask after each part, but not after the last one of a row.
        mask = tf.fill([tokens.nrows(), 1], self._tokenizer.mask_token_id)
        tokens = tf.concat([tokens, mask], 1)
        rows = parts.with_flat_values(tokens).merge_dims(1, 2)
        return self._packed([rows[:, :-1]])

    def _packed(self, tokens):
        token_ids, segment_ids, padding_mask = pack_segments(
            tokens,
            **self._packing_options,
            pad_to_longest=True,
            length_multiple=LENGTH_MULTIPLE,
        )
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": padding_mask,
        }

    def resources(self):
        """Lists what the tokenizer's graph refers to, once it was traced."""
        # Asked late, since a tokenizer may make them on demand.
        return [
            value
            for value in vars(self._tokenizer).values()
            if isinstance(value, tf.Module)
        ]


def flat(tensor):
    """One axis: a server enforces no shape, it feeds what a client sends."""
    return tf.reshape(tensor, [-1])
