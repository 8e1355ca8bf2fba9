import json

import numpy as np
import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.rest.json_replies import decimal_texts
from keras_albert.serving.server.rest.json_replies import element_texts
from keras_albert.serving.server.rest.json_replies import error_reply
from keras_albert.serving.server.rest.json_replies import predict_reply
from keras_albert.serving.server.rest.json_replies import string_text


def test_float32_comes_back_exactly():
    """The judge is the parser: what is written reads as the same number."""
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, "uint32")
    values = bits.view("float32")
    values = values[np.isfinite(values)]

    texts = decimal_texts(values)

    np.testing.assert_array_equal(np.array(texts, "float32"), values)
    assert all("." in text or "e" in text for text in texts)


def test_float64_comes_back_exactly():
    values = np.random.default_rng(0).normal(size=1000)

    assert [float(text) for text in decimal_texts(values)] == values.tolist()


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (9e6, "9e+06"),
        (1e-5, "1e-05"),
        (1 / 3, "0.333333343"),
        (np.nan, "NaN"),
        (-np.inf, "-Infinity"),
    ],
)
def test_how_float32_is_written(value, text):
    assert decimal_texts(np.array([value], "float32")) == [text]


def test_shapes_and_types_survive():
    outputs = {
        "a": np.arange(6, dtype="int64").reshape(3, 2, 1),
        "b": np.array([True, False, True]),
        "c_bytes": np.array([b"\xff", b"", b"x"], object),
        "d": np.zeros((3, 0), "float32"),
    }
    rows = json.loads(predict_reply(outputs, is_row=True))["predictions"]
    columns = json.loads(predict_reply(outputs, is_row=False))["outputs"]

    assert columns["a"] == [[[0], [1]], [[2], [3]], [[4], [5]]]
    assert [row["a"] for row in rows] == columns["a"]
    assert [row["b"] for row in rows] == columns["b"] == [True, False, True]
    assert columns["c_bytes"][0] == {"b64": "/w=="}
    assert [row["d"] for row in rows] == columns["d"] == [[], [], []]


def test_a_scalar_fits_columns_alone():
    outputs = {"a": np.float32(2.5).reshape(())}

    assert predict_reply(outputs, is_row=False) == b'{"outputs": 2.5}'
    with pytest.raises(ServingError, match="has no shape information"):
        predict_reply(outputs, is_row=True)


@pytest.mark.parametrize(
    "outputs, text",
    [
        ({}, "empty tensor map"),
        ({"a": np.zeros(0, "float32")}, "invalid batch size: 0"),
        (
            {"a": np.zeros(2, "float32"), "b": np.zeros(3, "float32")},
            "inconsistent batch size: 3 expecting: 2",
        ),
        ({"a": np.zeros(2, "float16")}, "float16"),
    ],
)
def test_what_fits_no_rows(outputs, text):
    with pytest.raises(ServingError, match=text):
        predict_reply(outputs, is_row=True)


def test_strings_are_escaped_but_not_checked():
    assert json.loads(string_text('"\\\n中'.encode())) == '"\\\n中'
    assert element_texts("a", np.array([b"\xff"], object)) == ['"\udcff"']
    reply = predict_reply({"a": np.array([b"\xff"], object)}, is_row=False)
    assert reply == b'{"outputs": ["\xff"]}'


def test_errors_are_json_whatever_they_quote():
    assert json.loads(error_reply('a "b" \n中')) == {"error": 'a "b" \n中'}
    assert json.loads(error_reply("\udcff"))
