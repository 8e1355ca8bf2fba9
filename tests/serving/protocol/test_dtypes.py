import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from keras_albert.serving.protocol.dtypes import DTYPES
from keras_albert.serving.protocol.dtypes import dtype_of


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.short)
def test_types_are_tensorflow_s(dtype):
    known = tf.dtypes.as_dtype(dtype.short)

    assert known.as_datatype_enum == dtype.number
    assert np.dtype(known.as_numpy_dtype) == np.dtype(dtype.numpy)
    assert dtype.field in tensor_pb2.TensorProto.DESCRIPTOR.fields_by_name


def test_a_type_without_messages_is_refused():
    assert dtype_of(np.zeros(1, "float32")).name == "DT_FLOAT"
    with pytest.raises(ValueError, match="complex128"):
        dtype_of(np.zeros(1, "complex128"))
