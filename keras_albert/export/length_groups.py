"""Runs a batch of rows of different lengths in groups of like length.

Padded to its longest row, a batch of short and long texts is mostly padding,
and a large one does not fit the memory. Here the rows are sorted by length
and taken group by group, each as wide as its own longest row.
"""

import tensorflow as tf

# Tokens of a group, padding included. Its activations then stay in the cache
# of the processor, and its products are large enough to be efficient.
GROUP_TOKENS = 1024
# Widths are multiples of this, so that few shapes occur.
LENGTH_MULTIPLE = 8


def run_in_groups(function, inputs, outputs, group_tokens=GROUP_TOKENS):
    """Calls a function on groups of rows; the answers come in row order.

    Args:
        function: from a dict of int32 tensors of shape `(rows, length)` to a
            dict of tensors with the same number of rows. A row's answer must
            not depend on the other rows, nor on columns beyond its last token.
        inputs: dict of int32 tensors of shape `(batch_size, length)`;
            `padding_mask` is one of them.
        outputs: dict of `tf.TensorSpec`: what the function gives for one row.
        group_tokens: int. Rows times width of a group at most, though a group
            has one row at least.

    Returns:
        Dict of tensors of shape `(batch_size, ...)`, as `outputs` says.
    """
    lengths = row_lengths(inputs["padding_mask"])
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    lengths = tf.gather(lengths, order)
    batch_size = tf.size(order)
    names = list(outputs)

    def one_group(start, *found):
        width = padded_length(lengths[start], tf.shape(inputs["token_ids"])[1])
        end = start + tf.maximum(group_tokens // width, 1)
        rows = order[start : tf.minimum(end, batch_size)]
        group = {
            name: tf.gather(value[:, :width], rows)
            for name, value in inputs.items()
        }
        answer = function(group)
        joined = [
            tf.concat([old, answer[name]], 0)
            for name, old in zip(names, found, strict=True)
        ]
        return (end, *joined)

    none = [tf.zeros([0, *spec.shape], spec.dtype) for spec in outputs.values()]
    shapes = [tf.TensorShape([None, *spec.shape]) for spec in outputs.values()]
    _, *found = tf.while_loop(
        lambda start, *_: start < batch_size,
        one_group,
        (tf.constant(0), *none),
        shape_invariants=(tf.TensorShape([]), *shapes),
        # One at a time: each keeps all cores busy, and two need more memory.
        parallel_iterations=1,
    )
    place = tf.argsort(order)
    return {
        name: tf.ensure_shape(tf.gather(value, place), shape)
        for name, value, shape in zip(names, found, shapes, strict=True)
    }


def row_lengths(padding_mask):
    """Number of columns up to the last token, at least 1.

    Args:
        padding_mask: int32 tensor of shape `(batch_size, length)`.

    Returns:
        Int32 tensor of shape `(batch_size,)`.
    """
    columns = 1 + tf.range(tf.shape(padding_mask)[1])
    last = tf.where(padding_mask > 0, columns, 0)
    # A maximum over no columns is the lowest integer.
    return tf.maximum(tf.reduce_max(last, 1), 1)


def padded_length(length, limit):
    """Rounds a length up to the multiple that is used, at most `limit`."""
    rounded = -(-length // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    return tf.minimum(rounded, limit)
