"""The judge is Prometheus's own parser."""

import asyncio
import contextlib

import pytest
from prometheus_client.parser import text_string_to_metric_families

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.metrics import MAX_UNKNOWN_NAMES
from keras_albert.serving.server.metrics import TIME_LIMITS
from keras_albert.serving.server.metrics import Metrics


def samples(metrics):
    """All samples by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.page())
        for sample in family.samples
    }


def test_a_counter_counts_per_label():
    metrics = Metrics()
    metrics.request_count.add("m", "OK")
    metrics.request_count.add("m", "OK")
    metrics.request_count.add('a"\\\n', "NOT_FOUND")

    # The parser writes counters as OpenMetrics names them.
    name = ":tensorflow:serving:request_count_total"
    found = samples(metrics)
    assert found[name, (("model_name", "m"), ("status", "OK"))] == 2
    odd = (("model_name", 'a"\\\n'), ("status", "NOT_FOUND"))
    assert found[name, odd] == 1


def test_a_histogram_counts_what_is_not_longer():
    metrics = Metrics()
    for micros in (5, 10, 11, 10**12):
        metrics.request_latency.observe(micros, "m", "Predict", "REST")

    found = samples(metrics)
    name = ":tensorflow:serving:request_latency"
    labels = {"API": "Predict", "entrypoint": "REST", "model_name": "m"}

    def bucket(limit):
        key = tuple(sorted({**labels, "le": limit}.items()))
        return found[f"{name}_bucket", key]

    assert (bucket("10"), bucket("18"), bucket("+Inf")) == (2, 3, 4)
    key = tuple(sorted(labels.items()))
    assert found[f"{name}_count", key] == 4
    assert found[f"{name}_sum", key] == 10**12 + 26
    assert len(TIME_LIMITS) == 33


def counts(metrics):
    """Counted requests by model name and status."""
    name = ":tensorflow:serving:request_count_total"
    return {
        tuple(dict(labels)[k] for k in ("model_name", "status")): value
        for (found, labels), value in samples(metrics).items()
        if found == name
    }


@pytest.mark.parametrize(
    "error, code",
    [
        (None, "OK"),
        (ServingError("NOT_FOUND", ""), "NOT_FOUND"),
        (ZeroDivisionError(), "INTERNAL"),
        (asyncio.CancelledError(), "CANCELLED"),
    ],
)
def test_however_a_request_ends_it_is_counted(error, code):
    metrics = Metrics()
    with (
        contextlib.suppress(Exception, asyncio.CancelledError),
        metrics.request("m", True, "GRPC", "Predict"),
    ):
        if error:
            raise error

    assert counts(metrics) == {("m", code): 1}
    assert ("request_latency_count" in metrics.page()) == (code == "OK")


def test_made_up_names_take_no_memory_and_no_served_model_s_place():
    metrics = Metrics()
    names = ["x" * 10**6, *map(str, range(MAX_UNKNOWN_NAMES + 50))]
    for name in [*names, *names]:
        with (
            contextlib.suppress(ServingError),
            metrics.request(name, False, "REST"),
        ):
            raise ServingError("NOT_FOUND", "")
    with metrics.request("m", True, "REST", "Predict"):
        pass

    found = counts(metrics)
    assert len(found) == MAX_UNKNOWN_NAMES + 2
    assert found["", "NOT_FOUND"] == 2 * 51
    assert found["0", "NOT_FOUND"] == 2
    assert found["m", "OK"] == 1


def test_every_metric_says_its_type():
    types = {
        family.name: family.type
        for family in text_string_to_metric_families(Metrics().page())
    }

    assert types[":tensorflow:serving:request_count"] == "counter"
    assert types[":tensorflow:serving:batching_session:queuing_latency"] == (
        "histogram"
    )
    assert types[":tensorflow:cc:saved_model:load_attempt_count"] == "counter"
