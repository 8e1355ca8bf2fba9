"""The rules as a whole are in `contract/`; here is what no request shows."""

import numpy as np
import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.rest.json_tensors import MAX_DIMENSIONS
from keras_albert.serving.server.rest.json_tensors import as_array
from keras_albert.serving.server.rest.json_tensors import decode_base64
from keras_albert.serving.server.rest.json_tensors import dense_shape
from keras_albert.serving.server.rest.json_tensors import flatten
from keras_albert.serving.server.rest.json_tensors import is_base64
from keras_albert.serving.server.rest.json_tensors import json_type
from keras_albert.serving.server.rest.json_tensors import quoted
from keras_albert.serving.server.rest.json_tensors import to_bytes


@pytest.mark.parametrize(
    "value, shape",
    [(1, ()), ([], (0,)), ([[]], (1, 0)), ([[1, 2], [3, 4], [5, 6]], (3, 2))],
)
def test_the_first_elements_tell_the_shape(value, shape):
    assert dense_shape(value) == shape


@pytest.mark.parametrize(
    "value, dtype",
    [
        (True, "DT_INT32"),
        (2**31, "DT_INT32"),
        (-1, "DT_UINT32"),
        (2**64, "DT_UINT64"),
        (1.0, "DT_INT64"),
        (0, "DT_BOOL"),
        (None, "DT_STRING"),
        ({"a": 1}, "DT_FLOAT"),
    ],
)
def test_values_of_another_type_are_refused(value, dtype):
    with pytest.raises(ServingError, match="is not of expected type"):
        flatten([value], dtype)


@pytest.mark.parametrize(
    "flat, dtype, expected",
    [
        ([2**64 - 1], "DT_UINT64", np.array([2**64 - 1], "uint64")),
        ([-(2**63)], "DT_INT64", np.array([-(2**63)], "int64")),
        ([257], "DT_UINT8", np.array([1], "uint8")),
        ([1e300], "DT_FLOAT", np.array([np.inf], "float32")),
        ([b"a"], "DT_STRING", np.array([b"a"], object)),
    ],
)
def test_arrays_have_the_type_of_the_input(flat, dtype, expected):
    found = as_array(flat, (1,), dtype)

    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


def test_a_type_without_json_is_told_so():
    with pytest.raises(ServingError, match="UNIMPLEMENTED.*BFLOAT16"):
        flatten([1.0], "DT_BFLOAT16")


def test_base64():
    assert is_base64({"b64": "aGk="})
    assert not is_base64({"b64": 1})
    assert not is_base64({"b64": "aGk=", "more": 1})
    assert decode_base64({"b64": "aGk="}) == b"hi"
    with pytest.raises(ServingError, match="base64"):
        decode_base64({"b64": "a"})


def test_error_texts_quote_no_more_than_helps():
    assert quoted([1, "é"]) == '[1, "é"]'
    assert len(quoted("x" * 10**6)) < 300
    assert [json_type(v) for v in (None, True, {}, [], "", 1, 1.0)] == [
        *("Null", "True", "Object", "Array", "String", "Number", "Number"),
    ]


def test_bytes_that_were_no_utf8_come_out_again():
    text = b"\xff\xe4".decode("utf-8", "surrogateescape")

    assert to_bytes(text + "中") == b"\xff\xe4" + "中".encode()
    with pytest.raises(ServingError, match="surrogate"):
        to_bytes("\ud800")


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [MAX_DIMENSIONS + 1, 900, 10**5])
def test_deeper_lists_than_a_tensor_has_are_refused(levels):
    flat, shape = flatten(nested(MAX_DIMENSIONS), "DT_FLOAT")
    assert as_array(flat, shape, "DT_FLOAT").shape == (1,) * MAX_DIMENSIONS

    with pytest.raises(ServingError, match="INVALID.*at most 64 dimensions"):
        flatten(nested(levels), "DT_FLOAT")
    with pytest.raises(ServingError, match="INVALID.*at most 64 dimensions"):
        as_array(flat, (1, *shape), "DT_FLOAT")


def test_what_is_too_deep_to_write_is_not_quoted():
    assert quoted(nested(10**5)) == "..."


def test_integers_too_big_for_a_float_are_refused():
    with pytest.raises(ServingError, match="INVALID.*Number too big"):
        flatten([10**400], "DT_FLOAT")
