"""Counts and times for Prometheus, under TensorFlow Serving's names."""

import asyncio
import bisect
import contextlib
import itertools
import re
import threading
import time

from keras_albert.serving.protocol.statuses import ServingError

# The server's buckets for times, in microseconds: 10 * 1.8^i.
TIME_LIMITS = tuple(10 * 1.8**i for i in range(33))
# Names of models that are not served are counted, too, as in the server; but
# anyone could make up any number of them, of any length.
MAX_UNKNOWN_NAMES = 100
MAX_NAME_CHARACTERS = 256


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
            self._values[values] = self._values.get(values, 0) + by

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
            if values not in self._counts:
                self._counts[values] = [0] * (len(TIME_LIMITS) + 1)
            place = bisect.bisect_left(TIME_LIMITS, value)
            self._counts[values][place] += 1
            self._sums[values] = self._sums.get(values, 0.0) + value

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
        self._unknown_names = set()

    @contextlib.contextmanager
    def request(self, name, is_served, entrypoint, api=None):
        """Counts the request inside the block, and times it if it succeeds.

        Args:
            name: string, the model's.
            is_served: bool. Whether there is such a model.
            entrypoint: `"REST"` or `"GRPC"`.
            api: string, such as `"Predict"`, or `None` for no timing.
        """
        started = time.monotonic()
        code = "INTERNAL"
        try:
            yield
            code = "OK"
        except ServingError as error:
            code = error.code
            raise
        except asyncio.CancelledError:
            code = "CANCELLED"
            raise
        finally:
            label = name if is_served else self._bounded(name)
            self.request_count.add(label, code)
            if code == "OK" and api is not None:
                micros = 1e6 * (time.monotonic() - started)
                self.request_latency.observe(micros, label, api, entrypoint)

    def _bounded(self, name):
        """The name of a model that is not served, or none for too many."""
        names = self._unknown_names
        if len(name) <= MAX_NAME_CHARACTERS and len(names) < MAX_UNKNOWN_NAMES:
            names.add(name)
        return name if name in names else ""

    def page(self):
        """The text that Prometheus reads.

        Returns:
            String.
        """
        lines = []
        metrics = [m for m in vars(self).values() if hasattr(m, "lines")]
        for metric in metrics:
            lines.append(f"# TYPE {metric.name} {metric.kind}")
            lines.extend(metric.lines())
        return "\n".join(lines) + "\n"
