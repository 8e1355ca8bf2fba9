"""The answers themselves are in `contract/`."""

import asyncio
import contextlib
import json

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.metrics import Metrics
from keras_albert.serving.server.rest.api import RestApi
from keras_albert.serving.server.runner import LONG_REQUEST_BYTES
from tests.serving.running_server import ask
from tests.serving.running_server import connect
from tests.serving.running_server import read_all


def test_long_requests_and_answers_are_right_too(server):
    """They take another way: beside the event loop."""
    values = [float(i % 1000) for i in range(60_000)]
    status, _, body = ask(
        f"{server.url}/v1/models/half/versions/1:predict",
        {"signature_name": "floats", "inputs": [values]},
    )

    assert len(json.dumps(values)) > LONG_REQUEST_BYTES
    assert status == 200
    assert json.loads(body)["outputs"] == [values]


def test_at_the_end_readiness_goes_first(server):
    api = server.server._api
    api.is_ending = True
    try:
        ready, _, _ = ask(f"{server.url}/v1/models/half/metadata")
        answer, _, _ = ask(
            f"{server.url}/v1/models/half:predict", {"instances": [1.0]}
        )
        with contextlib.closing(connect(server.url)) as raw:
            raw.sendall(b"GET /v1/models/half HTTP/1.1\r\nHost: a\r\n\r\n")
            status = read_all(raw)  # the server closes, though not asked to
    finally:
        api.is_ending = False

    assert ready == 503
    assert answer == 200
    assert b"Connection: close" in status


def test_what_models_raise_becomes_the_reply():
    class Models:
        names = ["m"]

        def versions(self, name, number):
            raise ServingError("UNAVAILABLE", f"{name} {number}")

    metrics = Metrics()
    api = RestApi(Models(), None, metrics)
    reply = asyncio.run(api.answer("GET", "/v1/models/m/versions/2"))

    assert (reply.status, reply.body) == (503, b'{"error": "m 2"}')
    assert 'model_name="m",status="UNAVAILABLE"} 1' in metrics.page()


def test_urls_without_meaning_are_counted_together():
    class Models:
        names = ["m"]

    metrics = Metrics()
    api = RestApi(Models(), None, metrics)
    for path in ("/v1/models/a:none", "/v1/models/b:none"):
        assert asyncio.run(api.answer("POST", path)).status == 400

    assert 'model_name="",status="INVALID_ARGUMENT"} 2' in metrics.page()
