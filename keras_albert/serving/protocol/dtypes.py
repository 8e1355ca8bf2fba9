"""TensorFlow's types of numbers as the contract names them, and NumPy's."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Dtype:
    """A type of tensor elements.

    Attributes:
        name: string, as in messages: `"DT_FLOAT"`.
        number: int, the value of that name in TensorFlow's `DataType`.
        numpy: NumPy's type; `object` holds `bytes`.
        field: string. The field of a `TensorProto` that holds the elements.
    """

    name: str
    number: int
    numpy: type
    field: str

    @property
    def short(self):
        """The name that error texts use: `"float"`, `"int32"`, `"string"`."""
        return self.name.removeprefix("DT_").lower()


DTYPES = (
    Dtype("DT_FLOAT", 1, np.float32, "float_val"),
    Dtype("DT_DOUBLE", 2, np.float64, "double_val"),
    Dtype("DT_INT32", 3, np.int32, "int_val"),
    Dtype("DT_UINT8", 4, np.uint8, "int_val"),
    Dtype("DT_INT16", 5, np.int16, "int_val"),
    Dtype("DT_INT8", 6, np.int8, "int_val"),
    Dtype("DT_STRING", 7, object, "string_val"),
    Dtype("DT_INT64", 9, np.int64, "int64_val"),
    Dtype("DT_BOOL", 10, np.bool_, "bool_val"),
    Dtype("DT_UINT16", 17, np.uint16, "int_val"),
    Dtype("DT_HALF", 19, np.float16, "half_val"),
    Dtype("DT_UINT32", 22, np.uint32, "uint32_val"),
    Dtype("DT_UINT64", 23, np.uint64, "uint64_val"),
)
BY_NAME = {dtype.name: dtype for dtype in DTYPES}
BY_NUMBER = {dtype.number: dtype for dtype in DTYPES}
_BY_NUMPY = {np.dtype(dtype.numpy): dtype for dtype in DTYPES}


def dtype_of(array):
    """Finds the `Dtype` of an array.

    Raises:
        ValueError: if messages have no such type here.
    """
    found = _BY_NUMPY.get(array.dtype)
    if found is None:
        names = ", ".join(dtype.short for dtype in DTYPES)
        raise ValueError(
            f"Arrays must be of one of the types {names}; strings are `bytes` "
            f"in an array of objects. Received: {array.dtype}."
        )
    return found
