"""The judge is Prometheus's own parser."""

from prometheus_client.parser import text_string_to_metric_families

from keras_albert.serving.server.metrics import MAX_SERIES
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


def test_made_up_names_take_no_memory_without_end():
    metrics = Metrics()
    for i in range(MAX_SERIES + 50):
        metrics.request_count.add(f"m{i}", "NOT_FOUND")

    found = samples(metrics)
    assert len(found) == MAX_SERIES + 1
    assert sum(found.values()) == MAX_SERIES + 50


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
