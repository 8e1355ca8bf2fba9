"""How two segments lie in an example: `[CLS] A [SEP] B [SEP]` and padding.

An example of one segment is `[CLS] A [SEP]`. Shapes: B batch, S sequence.
"""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True, eq=False)
class PairLayout:
    """Which places of a batch hold what.

    Args:
        place: int32 tensor of shape `(S,)`: 0, 1, 2, …
        end_of_first: int32 tensor of shape `(B, 1)`. Place of the first
            `[SEP]`.
        num_tokens: int32 tensor of shape `(B, 1)`. Places before the padding.
        in_first: bool tensor of shape `(B, S)`. Text of segment A.
        in_second: bool tensor of shape `(B, S)`. Text of segment B.
    """

    place: tf.Tensor
    end_of_first: tf.Tensor
    num_tokens: tf.Tensor
    in_first: tf.Tensor
    in_second: tf.Tensor

    @property
    def is_text(self):
        """Bool tensor of shape `(B, S)`: neither special nor padding."""
        return self.in_first | self.in_second

    def sources(self, first_start, second_start):
        """Where each place's token comes from.

        Args:
            first_start: tensor of integers of shape `(B,)`. Where segment A
                begins in an array of tokens.
            second_start: the same for segment B.

        Returns:
            A tensor of shape `(B, S)` of the same type, 0 outside the text.
        """
        dtype = first_start.dtype
        before_first = first_start[:, None] - 1
        before_second = second_start[:, None] - (
            tf.cast(self.end_of_first, dtype) + 1
        )
        shift = tf.where(self.in_first, before_first, before_second)
        source = tf.cast(self.place, dtype) + shift
        return tf.where(self.is_text, source, 0)

    def pack(self, text_ids, tokenizer):
        """Puts the special tokens around the text.

        Args:
            text_ids: int32 tensor of shape `(B, S)`. Anything outside the
                text.
            tokenizer: gives the ids of the special tokens.

        Returns:
            A dict of int32 `token_ids`, `segment_ids` and `padding_mask` of
            shape `(B, S)`.
        """
        real = self.place < self.num_tokens
        # Within the real places, what is no text is a special token.
        other_ids = tf.where(
            real, tokenizer.sep_token_id, tokenizer.pad_token_id
        )
        other_ids = tf.where(self.place == 0, tokenizer.cls_token_id, other_ids)
        in_b = real & (self.place > self.end_of_first)
        return {
            "token_ids": tf.where(self.is_text, text_ids, other_ids),
            "segment_ids": tf.cast(in_b, tf.int32),
            "padding_mask": tf.cast(real, tf.int32),
        }


def pair_layout(first_length, second_length, sequence_length):
    """Lays out segments of given lengths.

    Args:
        first_length: int32 tensor of shape `(B,)`.
        second_length: int32 tensor of shape `(B,)`. 0 for an example of one
            segment.
        sequence_length: int. S.

    Returns:
        A `PairLayout`.
    """
    place = tf.range(sequence_length)
    first, second = first_length[:, None], second_length[:, None]
    end_of_first = first + 1
    has_second = tf.cast(second > 0, tf.int32)
    num_tokens = first + second + 2 + has_second
    return PairLayout(
        place=place,
        end_of_first=end_of_first,
        num_tokens=num_tokens,
        in_first=(place >= 1) & (place < end_of_first),
        in_second=(place > end_of_first) & (place < num_tokens - 1),
    )
