"""All positions of all examples as the rows of one matrix, for TensorFlow.

TensorFlow makes a dozen small operations of each product of a three-dimensional
tensor with a matrix, and again of its gradient. In the calls of a deep encoder
these are a quarter of all operations, traced, kept and run.

Shape letters: B batch, S sequence, H hidden.
"""

import keras
from keras import ops


def as_rows(x):
    """Returns a `(B, S, H)` tensor as `(B * S, H)`.

    On JAX and PyTorch, which multiply it as it is, `x` itself.

    Args:
        x: tensor of shape `(..., H)`.
    """
    if keras.backend.backend() != "tensorflow":
        return x
    return ops.reshape(x, (-1, x.shape[-1]))


def as_sequences(rows, sequences):
    """Returns rows of `as_rows` with the leading axes of `sequences`.

    Args:
        rows: tensor of shape `(batch_size * sequence_length, H)`.
        sequences: tensor of shape `(batch_size, sequence_length, ...)`, or
            with any other axes before the last.

    Returns:
        Tensor of shape `(batch_size, sequence_length, H)`.
    """
    if keras.backend.backend() != "tensorflow":
        return rows
    leading = [-1 if n is None else n for n in sequences.shape[:-1]]
    if leading.count(-1) > 1:
        leading = ops.shape(sequences)[:-1]
    return ops.reshape(rows, (*leading, rows.shape[-1]))
