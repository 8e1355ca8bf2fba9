"""Rows of token ids -> `[CLS] a [SEP] b [SEP]`, padded to one length.

`pack_segments` is the TensorFlow form (`tf.data`, exported graphs) and
`pack_segments_python` its NumPy twin for eager calls; both give equal arrays.
The TensorFlow form uses core operations alone: the trimming operation inside
`keras_hub.layers.MultiSegmentPacker` is missing from TensorFlow Serving
before 2.20.
"""

import numpy as np

TRUNCATE = ("round_robin", "waterfall")


def pack_segments(
    segments,
    *,
    cls_token_id,
    sep_token_id,
    pad_token_id,
    sequence_length,
    truncate="round_robin",
    pad_to_longest=False,
    length_multiple=1,
):
    """Packs one or two ragged segments a row into dense model inputs.

    A segment id counts a `[SEP]` to the segment on its left, as BERT does.

    Args:
        segments: list of one or two `tf.RaggedTensor`s of shape
            `(batch_size, (length))` and dtype int32; zero rows and empty rows
            are fine.
        cls_token_id: int. Id placed first.
        sep_token_id: int. Id placed after each segment.
        pad_token_id: int. Id that fills the rest of the row.
        sequence_length: int. Longest row, special tokens included.
        truncate: `"round_robin"` (shorten the longer segment first) or
            `"waterfall"` (fill from the left).
        pad_to_longest: bool. Pad to the longest row of the batch instead of
            `sequence_length`.
        length_multiple: int. With `pad_to_longest`, round the length up to a
            multiple of this, at most `sequence_length`.

    Returns:
        `(token_ids, segment_ids, padding_mask)`, int32 tensors of shape
        `(batch_size, length)`; the mask is 1 on tokens and 0 on padding.

    Example:

    >>> import tensorflow as tf
    >>> ids, segments, mask = pack_segments(
    ...     [tf.ragged.constant([[7, 8]]), tf.ragged.constant([[9]])],
    ...     cls_token_id=2, sep_token_id=3, pad_token_id=0, sequence_length=7)
    >>> ids.numpy().tolist(), segments.numpy().tolist()
    ([[2, 7, 8, 3, 9, 3, 0]], [[0, 0, 0, 0, 1, 1, 0]])
    """
    import tensorflow as tf

    budget = _token_budget(len(segments), sequence_length, truncate)
    counts = _kept_counts(
        [tf.cast(s.row_lengths(), tf.int32) for s in segments],
        budget,
        truncate,
        tf.minimum,
        tf.maximum,
    )
    totals = tf.add_n(counts) + 1 + len(segments)  # (B,)
    length = sequence_length
    if pad_to_longest:
        # An empty batch has no longest row.
        length = tf.maximum(tf.reduce_max(totals), 1 + len(segments))
        length = -(-length // length_multiple) * length_multiple
        length = tf.minimum(length, sequence_length)

    columns = tf.range(length)[None, :]  # (1, L)
    kept = columns < totals[:, None]  # (B, L)
    token_ids = tf.where(kept, sep_token_id, pad_token_id)
    token_ids = tf.where(columns == 0, cls_token_id, token_ids)
    segment_ids = tf.zeros_like(token_ids)
    start = 1 + tf.zeros_like(totals)  # (B,) first column of the segment
    for index, (segment, count) in enumerate(
        zip(segments, counts, strict=True)
    ):
        offset = columns - start[:, None]  # (B, L)
        inside = (offset >= 0) & (offset < count[:, None])
        dense = segment.to_tensor(pad_token_id, shape=tf.stack([-1, length]))
        moved = tf.gather(dense, tf.where(inside, offset, 0), batch_dims=1)
        token_ids = tf.where(inside, moved, token_ids)
        segment_ids = tf.where((offset >= 0) & kept, index, segment_ids)
        start += count + 1
    return token_ids, segment_ids, tf.cast(kept, tf.int32)


def pack_segments_python(
    segments,
    *,
    cls_token_id,
    sep_token_id,
    pad_token_id,
    sequence_length,
    truncate="round_robin",
):
    """Packs lists of ids as `pack_segments` does, without TensorFlow.

    Args:
        segments: list of one or two lists of rows; a row is a list of ints.
        cls_token_id: int. Id placed first.
        sep_token_id: int. Id placed after each segment.
        pad_token_id: int. Id that fills the rest of the row.
        sequence_length: int. Length of every row.
        truncate: `"round_robin"` or `"waterfall"`.

    Returns:
        `(token_ids, segment_ids, padding_mask)`, int32 arrays of shape
        `(batch_size, sequence_length)`.

    Example:

    >>> pack_segments_python(
    ...     [[[7, 8]]], cls_token_id=2, sep_token_id=3, pad_token_id=0,
    ...     sequence_length=5)[0].tolist()
    [[2, 7, 8, 3, 0]]
    """
    budget = _token_budget(len(segments), sequence_length, truncate)
    shape = (len(segments[0]), sequence_length)
    token_ids = np.full(shape, pad_token_id, "int32")
    segment_ids = np.zeros(shape, "int32")
    padding_mask = np.zeros(shape, "int32")
    for row, parts in enumerate(zip(*segments, strict=True)):
        counts = _kept_counts([len(p) for p in parts], budget, truncate)
        ids, kinds = [cls_token_id], [0]
        for index, (part, count) in enumerate(zip(parts, counts, strict=True)):
            ids += [*part[:count], sep_token_id]
            kinds += [index] * (count + 1)
        token_ids[row, : len(ids)] = ids
        segment_ids[row, : len(ids)] = kinds
        padding_mask[row, : len(ids)] = 1
    return token_ids, segment_ids, padding_mask


def _token_budget(num_segments, sequence_length, truncate):
    """Counts the tokens of text that fit beside the special tokens."""
    if num_segments not in (1, 2):
        raise ValueError(
            f"A row has one or two segments, not {num_segments}. Join the "
            "others before packing."
        )
    if truncate not in TRUNCATE:
        raise ValueError(
            f"`truncate` must be one of {TRUNCATE}. "
            f"Received: truncate={truncate!r}."
        )
    special = 1 + num_segments
    if sequence_length < special:
        raise ValueError(
            f"`sequence_length` must be at least {special} to hold the special "
            f"tokens of {num_segments} segment(s). "
            f"Received: sequence_length={sequence_length}."
        )
    return sequence_length - special


def _kept_counts(lengths, budget, truncate, minimum=min, maximum=max):
    """Shares `budget` tokens between the segments of a row.

    Round robin hands out one token at a time, left first, to each segment
    that still wants one; in closed form, the left keeps its half or whatever
    the right leaves free.
    """
    if len(lengths) == 1:
        return [minimum(lengths[0], budget)]
    left, right = lengths
    if truncate == "waterfall":
        share = budget
    else:
        share = maximum((budget + 1) // 2, budget - right)
    left = minimum(left, share)
    return [left, minimum(right, budget - left)]
