"""The judges are `tf.make_tensor_proto` and `tf.make_ndarray`."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from keras_albert.serving.protocol.dtypes import DTYPES
from keras_albert.serving.protocol.message_schema import messages
from keras_albert.serving.protocol.tensor_messages import fill_tensor
from keras_albert.serving.protocol.tensor_messages import read_tensor

TYPES = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.short)


def some_array(dtype, shape=(2, 3)):
    if dtype.numpy is object:
        flat = [b"a", b"", b"\xff\x00", "中".encode(), b"b", b"c"]
    else:
        flat = [0, 1, 2, 100, 1, 0]
    return np.array(flat, dtype.numpy).reshape(shape)


@TYPES
def test_what_is_written_is_what_tensorflow_reads(dtype):
    array = some_array(dtype)
    message = messages()["Tensor"]()
    fill_tensor(message, array)

    official = tensor_pb2.TensorProto.FromString(message.SerializeToString())
    found = tf.make_ndarray(official)

    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@TYPES
@pytest.mark.parametrize("shape", [(2, 3), (6,), (6, 1, 1)])
def test_what_tensorflow_writes_is_read(dtype, shape):
    array = some_array(dtype, shape)

    found = read_tensor(tf.make_tensor_proto(array))

    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("value", [1.5, b"text", True])
def test_scalars(value):
    message = messages()["Tensor"]()
    fill_tensor(message, np.array(value, object if value == b"text" else None))

    assert read_tensor(message).shape == ()
    assert read_tensor(message)[()] == value


def test_no_elements_and_left_out_elements():
    empty = tf.make_tensor_proto(np.zeros((0, 3), "float32"))
    filled = tf.make_tensor_proto(np.float32(7), shape=(2, 2))
    default = tensor_pb2.TensorProto(dtype=7)
    default.tensor_shape.dim.add(size=2)

    assert read_tensor(empty).shape == (0, 3)
    assert len(filled.float_val) == 1
    np.testing.assert_array_equal(read_tensor(filled), np.full((2, 2), 7))
    assert read_tensor(default).tolist() == [b"", b""]


def message_of(shape, **fields):
    message = tensor_pb2.TensorProto(**{"dtype": 1, **fields})
    for size in shape:
        message.tensor_shape.dim.add(size=size)
    return message


@pytest.mark.parametrize(
    "message, text",
    [
        (message_of([2], dtype=14), "type number 14"),
        (message_of([-1]), "negative"),
        (message_of([2], tensor_content=b"123"), "takes 8 bytes"),
        (message_of([1], float_val=[1, 2]), "cannot have 2 values"),
        (message_of([2**40], float_val=[1]), "came with 1 values"),
    ],
)
def test_contradictions_are_refused(message, text):
    with pytest.raises(ValueError, match=text):
        read_tensor(message)
