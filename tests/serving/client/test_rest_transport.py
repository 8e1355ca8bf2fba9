"""What the server says well is in `test_client.py`; here is the rest."""

import json
import re

import numpy as np
import pytest

from keras_albert.serving.client.rest_transport import RestTransport
from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo
from keras_albert.serving.protocol.statuses import ServingError

INFO = TensorInfo("", "DT_FLOAT", (-1,))
SIGNATURE = Signature("s", {"x": INFO}, {"y": INFO, "z": INFO})


class Connections:
    """Answers each request with the same reply."""

    def __init__(self, status, body, **headers):
        self.reply = status, headers, body
        self.asked = []

    def request(self, *request):
        self.asked.append(request)
        return self.reply


def transport(status, body, headers=None, **options):
    made = RestTransport("http://localhost:1", "a model", **options)
    made._connections = Connections(status, body, **(headers or {}))
    return made


@pytest.mark.parametrize(
    "options, path",
    [
        ({}, "/v1/models/a%20model"),
        ({"version": 3}, "/v1/models/a%20model/versions/3"),
        ({"label": "a/b"}, "/v1/models/a%20model/labels/a%2Fb"),
    ],
)
def test_paths(options, path):
    made = transport(200, b'{"outputs": {"y": [1], "z": [2]}}', **options)
    made.predict(SIGNATURE, {"x": np.ones(1, "float32")}, 5)

    method, found, body, seconds = made._connections.asked[0]
    assert (method, found, seconds) == ("POST", f"{path}:predict", 5)
    assert json.loads(body) == {"signature_name": "s", "inputs": {"x": [1.0]}}


@pytest.mark.parametrize(
    "status, body, code, text",
    [
        (400, b'{"error": "bad"}', "INVALID_ARGUMENT", "^bad$"),
        (503, b"<html>busy</html>", "UNAVAILABLE", "busy"),
        (502, b"", "UNAVAILABLE", "HTTP 502"),
        (200, b"<html>", "INTERNAL", "no JSON"),
        (200, b'{"predictions": 1}', "INTERNAL", "no 'outputs'"),
        (200, b'{"outputs": {"other": 1}}', "ABORTED", "has changed"),
        (200, b'{"outputs": [1]}', "ABORTED", "has changed"),
    ],
)
def test_answers_that_are_none(status, body, code, text):
    with pytest.raises(ServingError) as caught:
        transport(status, body).predict(SIGNATURE, {}, 5)

    assert caught.value.code == code
    caught.match(code)
    assert re.search(text, caught.value.message)


def test_how_long_to_wait_is_read():
    made = transport(503, b"{}", {"Retry-After": "7"})
    with pytest.raises(ServingError) as caught:
        made.status(5)
    assert caught.value.retry_after == 7.0


def test_nan_is_read():
    made = transport(200, b'{"outputs": {"y": [NaN], "z": [-Infinity]}}')
    found = made.predict(SIGNATURE, {}, 5)

    assert np.isnan(found["y"][0])
    assert found["z"][0] == -np.inf


def test_examples_are_written():
    made = transport(200, b'{"results": [[["a", 1.0]]]}')
    example = {
        "text": b"\xff",
        "words": ["a", "b"],
        "count": np.int64(3),
        "numbers": np.array([0.5]),
    }

    assert made.classify("s", [example], 5) == [[("a", 1.0)]]
    assert json.loads(made._connections.asked[0][2])["examples"] == [
        {
            "text": {"b64": "/w=="},
            "words": ["a", "b"],
            "count": 3,
            "numbers": [0.5],
        }
    ]
