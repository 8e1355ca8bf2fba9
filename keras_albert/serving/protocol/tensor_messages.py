"""Arrays to and from `TensorProto` messages, without TensorFlow.

The functions take messages of any class with TensorFlow's fields: the ones of
`message_schema` and TensorFlow's own.
"""

import math

import numpy as np

from keras_albert.serving.protocol.dtypes import BY_NUMBER
from keras_albert.serving.protocol.dtypes import dtype_of

# A message of a few bytes can ask for a tensor of any size: its last value is
# repeated. A batch of masks is sent so on purpose, millions of texts are not.
MAX_REPEATED_ELEMENTS = 2**20


def fill_tensor(message, array):
    """Writes an array into a message, one value per element.

    Args:
        message: an empty `TensorProto`.
        array: NumPy array, `bytes` in an array of objects for strings.

    Raises:
        ValueError: if there is no such type.
    """
    array = np.asarray(array)
    dtype = dtype_of(array)
    message.dtype = dtype.number
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    flat = array.reshape(-1)
    if dtype.name == "DT_HALF":
        flat = flat.view(np.uint16)
    getattr(message, dtype.field).extend(flat.tolist())


def read_tensor(message):
    """Reads the array in a message.

    Args:
        message: a `TensorProto`, its elements in `tensor_content` or in the
            list of their type.

    Returns:
        NumPy array; strings are `bytes` in an array of objects.

    Raises:
        ValueError: if type, shape and number of elements do not fit.
    """
    dtype = BY_NUMBER.get(message.dtype)
    if dtype is None:
        raise ValueError(
            f"Tensors of type number {message.dtype} cannot be read."
        )
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    if message.tensor_shape.unknown_rank or min(shape, default=0) < 0:
        raise ValueError(
            "A tensor must have a known shape with no negative size. "
            f"Received: {list(shape)}."
        )
    size = math.prod(shape)
    if message.tensor_content and dtype.numpy is not object:
        flat = _from_content(message.tensor_content, dtype, shape)
    else:
        flat = _from_values(getattr(message, dtype.field), dtype, shape)
    if len(flat) < size:
        if size > MAX_REPEATED_ELEMENTS:
            raise ValueError(
                f"A tensor of shape {list(shape)} came with {len(flat)} values."
            )
        # The last value stands for all that are left out.
        last = flat[-1:] if len(flat) else _empty_value(dtype)
        flat = np.concatenate([flat, np.repeat(last, size - len(flat))])
    return flat.reshape(shape)


def _from_content(content, dtype, shape):
    expected = math.prod(shape) * np.dtype(dtype.numpy).itemsize
    if len(content) != expected:
        raise ValueError(
            f"A tensor of shape {list(shape)} and type {dtype.short} takes "
            f"{expected} bytes. Received: {len(content)}."
        )
    return np.frombuffer(content, dtype.numpy)


def _from_values(values, dtype, shape):
    if len(values) > math.prod(shape):
        raise ValueError(
            f"A tensor of shape {list(shape)} cannot have {len(values)} values."
        )
    if dtype.numpy is object:
        flat = np.empty(len(values), object)
        flat[:] = list(values)
        return flat
    if dtype.name == "DT_HALF":
        return np.asarray(values, np.uint16).view(np.float16)
    # Through int64, as small integers travel in wider fields.
    wide = np.int64 if dtype.field == "int_val" else dtype.numpy
    return np.asarray(values, wide).astype(dtype.numpy)


def _empty_value(dtype):
    if dtype.numpy is object:
        return np.array([b""], object)
    return np.zeros(1, dtype.numpy)
