"""Counts and times for Prometheus, under TensorFlow Serving's names."""

import bisect
import itertools
import re
import threading

# The server's buckets for times, in microseconds: 10 * 1.8^i.
TIME_LIMITS = tuple(10 * 1.8**i for i in range(33))
# Model names come from URLs; anyone could make up any number of them.
MAX_SERIES = 500


class Counter:
    """A number per set of labels that only grows."""

    kind = "counter"

    def __init__(self, name, labels):
        self.name = exposed_name(name)
        self._labels = labels
        self._values = {}
        self._lock = threading.Lock()

    def add(self, *values, by=1):
        """Adds to the series of these label values."""
        with self._lock:
            key = _bounded(self._values, values)
            self._values[key] = self._values.get(key, 0) + by

    def lines(self):
        """The lines of the metric's page."""
        with self._lock:
            items = sorted(self._values.items())
        for values, number in items:
            yield f"{self.name}{{{label_text(self._labels, values)}}} {number}"


class Histogram:
    """How often values fell into each range, per set of labels."""

    kind = "histogram"

    def __init__(self, name, labels):
        self.name = exposed_name(name)
        self._labels = labels
        self._counts = {}
        self._sums = {}
        self._lock = threading.Lock()

    def observe(self, value, *values):
        """Counts a value in the series of these label values."""
        with self._lock:
            key = _bounded(self._counts, values)
            counts = self._counts.setdefault(key, [0] * (len(TIME_LIMITS) + 1))
            counts[bisect.bisect_left(TIME_LIMITS, value)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self):
        """The lines of the metric's page."""
        with self._lock:
            items = sorted((k, list(c)) for k, c in self._counts.items())
            sums = dict(self._sums)
        limits = [*(f"{limit:g}" for limit in TIME_LIMITS), "+Inf"]
        for values, counts in items:
            labels = label_text(self._labels, values)
            comma = "," if labels else ""
            below = list(itertools.accumulate(counts))
            for limit, number in zip(limits, below, strict=True):
                yield (
                    f'{self.name}_bucket{{{labels}{comma}le="{limit}"}} '
                    f"{number}"
                )
            yield f"{self.name}_sum{{{labels}}} {sums[values]:.15g}"
            yield f"{self.name}_count{{{labels}}} {below[-1]}"


def _bounded(series, values):
    if values in series or len(series) < MAX_SERIES:
        return values
    return ("",) * len(values)


def exposed_name(name):
    """The name Prometheus gets for a metric of TensorFlow.

    >>> exposed_name("/tensorflow/serving/request_count")
    ':tensorflow:serving:request_count'
    """
    return re.sub("[^a-zA-Z0-9_]", ":", name)


def label_text(names, values):
    r"""Writes labels, with quotes, backslashes and ends of line escaped.

    >>> label_text(("model_name",), ('a"b',))
    'model_name="a\\"b"'
    """
    pairs = []
    for name, value in zip(names, values, strict=True):
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        value = value.replace("\n", "\\n")
        pairs.append(f'{name}="{value}"')
    return ",".join(pairs)


class Metrics:
    """All metrics of a server."""

    def __init__(self):
        serving = "/tensorflow/serving"
        self.request_count = Counter(
            f"{serving}/request_count", ("model_name", "status")
        )
        self.request_latency = Histogram(
            f"{serving}/request_latency", ("model_name", "API", "entrypoint")
        )
        self.runtime_latency = Histogram(
            f"{serving}/runtime_latency", ("model_name", "API", "runtime")
        )
        self.warm_up_latency = Histogram(
            f"{serving}/model_warmup_latency", ("model_path", "status")
        )
        self.queuing_latency = Histogram(
            f"{serving}/batching_session/queuing_latency", ()
        )
        self.load_attempts = Counter(
            "/tensorflow/cc/saved_model/load_attempt_count",
            ("model_path", "status"),
        )

    def page(self):
        """The text that Prometheus reads.

        Returns:
            String.
        """
        lines = []
        for metric in vars(self).values():
            lines.append(f"# TYPE {metric.name} {metric.kind}")
            lines.extend(metric.lines())
        return "\n".join(lines) + "\n"
