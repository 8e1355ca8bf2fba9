"""The rules as a whole are in `contract/`; here is what no request shows."""

import pytest

from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.rest.json_requests import parse_json
from keras_albert.serving.server.rest.json_requests import predict_inputs
from keras_albert.serving.server.rest.json_requests import signature_name


@pytest.mark.parametrize(
    "body, value",
    [
        (b'{"a": 1} and more', {"a": 1}),
        (b'\xef\xbb\xbf \n{"a": 1}', {"a": 1}),
        (b'{"a": 1, "a": 2}', {"a": 1}),
        (b'{"a": [NaN]}'.replace(b"NaN", b"Infinity"), {"a": [float("inf")]}),
        (b'{"a": "\\ud83d\\ude42"}', {"a": "🙂"}),
        (b'{"a": "\xff"}', {"a": "\udcff"}),
    ],
)
def test_what_is_json(body, value):
    assert parse_json(body) == value


@pytest.mark.parametrize(
    "body, text",
    [
        (b"", "The document is empty"),
        (b" \n", "The document is empty"),
        (b"{", "JSON Parse error"),
        (b'{"a": 1e999}', "Number too big"),
        (b'{"a": ' + b"9" * 5000 + b"}", "JSON Parse error"),
        (b"[" * 100_000, "too deep"),
        (b'{"a": ' + b'{"a":' * 100_000, "too deep"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"\\ud800": [[1]]}', "surrogate"),
        (b'["a"]', "Is not object"),
        (b'{"\xe4\xb8\xad": x}', "at offset: 8"),
    ],
)
def test_what_is_none(body, text):
    with pytest.raises(ServingError) as caught:
        parse_json(body)

    assert caught.value.code == "INVALID_ARGUMENT"
    assert text in caught.value.message


def test_the_default_signature_has_no_name():
    assert signature_name({}) == ""
    assert signature_name({"signature_name": "pair"}) == "pair"


def test_a_signature_without_inputs_takes_nothing():
    with pytest.raises(ServingError, match="Failed to get input map.*DEFAULT"):
        predict_inputs({"inputs": []}, lambda name: Signature(name, {}, {}))


def test_what_the_signature_lacks_is_not_wrapped():
    """501 must stay 501, though rows wrap all other errors."""
    info = TensorInfo("x:0", "DT_HALF", (-1,))
    signature = Signature("s", {"x": info}, {})

    with pytest.raises(ServingError) as caught:
        predict_inputs({"instances": [1]}, lambda name: signature)
    assert caught.value.code == "UNIMPLEMENTED"
