import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from keras_albert.serving.server.metrics import Metrics
from keras_albert.serving.server.rest.http_service import HttpService
from keras_albert.serving.server.rest.http_service import _path
from tests.serving.running_server import ask


def test_metrics_are_where_prometheus_is_told_to_look(server):
    ask(f"{server.url}/v1/models/albert:predict", {"instances": ["a"]})
    ask(f"{server.url}/v1/models/albert:predict", {"instances": [1]})
    status, headers, body = ask(f"{server.url}/monitoring/prometheus/metrics")
    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }

    def count(name, **labels):
        key = f":tensorflow:serving:{name}", frozenset(labels.items())
        return found[key]

    albert = {"model_name": "albert"}
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain")
    assert count("request_count_total", status="OK", **albert) >= 1
    refused = {"status": "INVALID_ARGUMENT", **albert}
    assert count("request_count_total", **refused) >= 1
    api = {"API": "Predict", **albert}
    assert count("request_latency_count", entrypoint="REST", **api) >= 1
    assert count("runtime_latency_count", runtime="TF1", **api) >= 1
    assert count("batching_session:queuing_latency_count") >= 1


@pytest.mark.parametrize(
    "method, path", [("GET", "/favicon.ico"), ("POST", "/"), ("GET", "/v1")]
)
def test_nothing_else_is_there(server, method, path):
    status, headers, _ = ask(server.url + path, method=method)

    assert status == 404
    assert headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "origin, status", [("http://a.b", 200), ("https://a.b", 200), ("", 400)]
)
def test_preflight_requests(server, origin, status):
    found, headers, _ = ask(
        f"{server.url}/v1/models/half:predict",
        method="OPTIONS",
        headers=[("Origin", origin)] if origin else [],
    )

    assert found == status
    assert "Access-Control-Allow-Origin" not in headers


def test_other_origins_may_ask_where_that_is_wanted():
    service = HttpService(None, None, Metrics(), 10, allow_cors=True)

    headers = service._json(200, b"{}").headers
    assert headers["Access-Control-Allow-Origin"] == "*"


def test_a_request_line_may_hold_the_whole_url():
    assert _path("http://localhost:1/v1/models/m?x") == "/v1/models/m?x"
    assert _path("HTTP://localhost") == "/"
    assert _path("/v1/http://x") == "/v1/http://x"


def test_a_mistake_of_ours_is_an_error_not_an_end(server, monkeypatch):
    async def broken(*arguments):
        raise KeyError("bug")

    monkeypatch.setattr(server.server._api, "answer", broken)
    status, _, body = ask(f"{server.url}/v1/models/half")

    assert (status, json.loads(body)) == (500, {"error": "Internal error"})
