import numpy as np
import pytest

from keras_albert.serving.client.values import as_tensor
from keras_albert.serving.client.values import from_json
from keras_albert.serving.client.values import from_tensor
from keras_albert.serving.client.values import named_inputs
from keras_albert.serving.client.values import slices
from keras_albert.serving.client.values import to_json
from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo


def signature(**dtypes):
    inputs = {n: TensorInfo(n, d, (-1,)) for n, d in dtypes.items()}
    return Signature("s", inputs, {})


ONE = signature(text="DT_STRING")
TWO = signature(a="DT_STRING", b="DT_INT32")


def test_one_input_needs_no_name():
    for inputs in (["é", b"\xff"], {"text": ["é", b"\xff"]}):
        found = named_inputs(inputs, ONE)
        assert found["text"].tolist() == ["é".encode(), b"\xff"]


@pytest.mark.parametrize(
    "inputs, known, text",
    [
        ("one text", ONE, r"takes a list of strings.*Pass \['one text'\]"),
        ([1], ONE, "takes strings. Received: 1 of type int at place 0"),
        (["a"], TWO, "Pass a dict"),
        ({"a": ["x"]}, TWO, r"inputs \['a', 'b'\]. Received: \['a'\]"),
        ({"a": ["x"], "b": [1, 2]}, TWO, "same length.*'a': 1, 'b': 2"),
        ({"a": ["x"], "b": [1.5]}, TWO, "takes int32. Received: float64"),
        ({"a": ["x"], "b": [2**31]}, TWO, "int32, which is too small"),
        ({"a": [["x"], ["y"]], "b": [[1], [1, 2]]}, TWO, "rows of one length"),
    ],
)
def test_what_does_not_fit_is_said_before_it_is_sent(inputs, known, text):
    with pytest.raises(ValueError, match=text):
        named_inputs(inputs, known)


@pytest.mark.parametrize(
    "values, dtype, kind",
    [
        ([1, 2], "DT_FLOAT", "float32"),
        ([1.5], "DT_HALF", "float16"),
        ([], "DT_INT64", "int64"),
        ([True], "DT_BOOL", "bool"),
        (np.arange(3), "DT_UINT8", "uint8"),
    ],
)
def test_arrays_have_the_type_of_the_input(values, dtype, kind):
    found = as_tensor("x", values, dtype)

    assert found.dtype == kind
    assert found.tolist() == list(values)


def test_strings_go_as_text_where_they_are_text():
    array = as_tensor("x", [["é", b"\xff"]], "DT_STRING")

    assert to_json(array) == [["é", {"b64": "/w=="}]]
    assert to_json(np.array([[1.5]])) == [[1.5]]
    assert to_json(as_tensor("x", [], "DT_STRING")) == []


def test_outputs_of_both_ways_are_the_same():
    tensor = np.array([b"a", "é".encode()], object)
    for name, values, json_value in [
        ("label", ["a", "é"], ["a", "é"]),
        ("raw_bytes", tensor.tolist(), [{"b64": "YQ=="}, {"b64": "w6k="}]),
    ]:
        found = from_json(name, json_value, "DT_STRING")
        assert found.tolist() == from_tensor(name, tensor).tolist() == values
    floats = from_json("y", [[1.5], [2]], "DT_FLOAT")
    assert floats.dtype == np.float32
    assert floats.shape == (2, 1)


def test_long_lists_are_cut():
    arrays = {"a": np.arange(5), "b": np.arange(10).reshape(5, 2)}

    parts = slices(arrays, 2)

    assert [len(part["a"]) for part in parts] == [2, 2, 1]
    np.testing.assert_array_equal(
        np.concatenate([part["b"] for part in parts]), arrays["b"]
    )
    assert len(slices({"a": np.zeros(0)}, 2)) == 1
    assert len(slices({"a": np.float32(1).reshape(())}, 2)) == 1
