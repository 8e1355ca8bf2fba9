"""A client for TensorFlow Serving and for the local server."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from keras_albert.serving.client.rest_transport import RestTransport
from keras_albert.serving.client.retries import RetryPolicy
from keras_albert.serving.client.retries import is_passing
from keras_albert.serving.client.retries import with_retries
from keras_albert.serving.client.values import named_inputs
from keras_albert.serving.client.values import slices
from keras_albert.serving.protocol.signatures import DEFAULT_SIGNATURE
from keras_albert.serving.protocol.statuses import ServingError


class Client:
    """Asks a served model over REST or gRPC. Any thread may use it.

    What fails for a reason that passes, a server that is not there or has too
    much to do, is tried again, with growing waits, until the deadline. Long
    lists go in parts, several at a time. TensorFlow is not imported.

    Args:
        url: string. `"http://host:8501"` or `"https://..."` for REST,
            `"grpc://host:8500"` or `"grpcs://..."` for gRPC.
        model: string, the model's name.
        version: int. Defaults to the latest version.
        label: string, instead of `version`.
        deadline: float. Seconds that an answer may take with all tries.
            Defaults to 30.
        batch_size: int. Rows of a request at most. Defaults to 32.
        concurrency: int. Requests at a time at most. Defaults to 4.
        retry: `RetryPolicy`.
        headers: dict to send with each request, such as an `Authorization`.

    Raises:
        ValueError: if an argument cannot be used.

    Example:

    ```python
    with Client("http://localhost:8501", "reviews") as client:
        answer = client.predict(["a fine film", "very dull"])
        answer["label"], answer["probabilities"]
    ```
    """

    def __init__(
        self,
        url,
        model,
        *,
        version=None,
        label=None,
        deadline=30.0,
        batch_size=32,
        concurrency=4,
        retry=None,
        headers=None,
    ):
        if version is not None and label is not None:
            raise ValueError(
                "Give `version` or `label`, not both. Received: "
                f"version={version}, label={label!r}."
            )
        for name, value in (
            ("deadline", deadline),
            ("batch_size", batch_size),
            ("concurrency", concurrency),
        ):
            if not value > 0:
                raise ValueError(
                    f"`{name}` must be greater than 0. Received: {value}."
                )
        self._transport = _transport(url, model, version, label, headers)
        self._deadline = deadline
        self._batch_size = batch_size
        self._retry = retry or RetryPolicy()
        self._random = random.Random()
        self._signatures = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(
            concurrency, thread_name_prefix="client"
        )

    def predict(self, inputs, signature=None, deadline=None):
        """Asks for predictions.

        Args:
            inputs: list or array of rows, or for a signature with several
                inputs a dict from input name to such. Strings are `str` or
                `bytes`.
            signature: string. Defaults to `"serving_default"`.
            deadline: float, in seconds. Defaults to the client's.

        Returns:
            Dict from output name to NumPy array, one row per row. Strings are
            `str` in an array of objects, or `bytes` if the output's name ends
            in `_bytes`.

        Raises:
            ServingError: if the server does not answer, with its code.
            ValueError: if the signature has not these inputs.
        """
        ends = self._ends(deadline)
        known = self._signature(signature, ends)
        arrays = named_inputs(inputs, known)
        parts = slices(arrays, self._batch_size)

        def ask(part):
            return self._predict_part(known.name, part, ends)

        answers = self._map(ask, parts)
        return {
            name: _joined([answer[name] for answer in answers])
            for name in answers[0]
        }

    def _predict_part(self, name, tensors, ends):
        for is_fresh in (False, True):
            known = self._signature(name, ends, refresh=is_fresh)
            try:
                return self._try(
                    lambda left, known=known: self._transport.predict(
                        known, tensors, left
                    ),
                    ends,
                )
            except ServingError as error:
                # Another version with other outputs came in between.
                if error.code != "ABORTED" or is_fresh:
                    raise
        raise AssertionError("the second try returns or raises")

    def classify(self, examples, signature=None, deadline=None):
        """Asks for the classes of examples.

        Args:
            examples: list of dict from feature name to a value or a list of
                values: strings, integers or floats.
            signature: string. Defaults to `"serving_default"`.
            deadline: float, in seconds. Defaults to the client's.

        Returns:
            List with, for each example, a list of `(label, score)`.

        Raises:
            ServingError: if the server does not answer, with its code.
        """
        return self._ask_examples("classify", examples, signature, deadline)

    def regress(self, examples, signature=None, deadline=None):
        """Asks for the numbers that belong to examples.

        Args:
            examples: as for `classify`.
            signature: string. Defaults to `"serving_default"`.
            deadline: float, in seconds. Defaults to the client's.

        Returns:
            float32 array of shape `(num_examples,)`.

        Raises:
            ServingError: if the server does not answer, with its code.
        """
        values = self._ask_examples("regress", examples, signature, deadline)
        return np.array(values, "float32")

    def _ask_examples(self, method, examples, signature, deadline):
        ends = self._ends(deadline)
        examples = list(examples)
        send = getattr(self._transport, method)
        name = signature or DEFAULT_SIGNATURE

        def ask(part):
            return self._try(lambda left: send(name, part, left), ends)

        size = self._batch_size
        parts = [examples[i : i + size] for i in range(0, len(examples), size)]
        return [row for rows in self._map(ask, parts) for row in rows]

    def signatures(self, deadline=None):
        """Asks what the model takes and gives.

        Returns:
            Dict from name to `Signature`, whose `inputs` and `outputs` map
            names to type and shape.
        """
        return self._try(self._transport.signatures, self._ends(deadline))

    def status(self, deadline=None):
        """Asks what became of the model's versions.

        Returns:
            List of dict: `version`, `state` (`"AVAILABLE"`, `"LOADING"`, ...)
            and `error`.
        """
        return self._try(self._transport.status, self._ends(deadline))

    def wait_until_ready(self, deadline=None):
        """Waits until the model can answer.

        Args:
            deadline: float, in seconds. Defaults to the client's.

        Raises:
            ServingError: the last answer, if it cannot in time.
        """
        ends = self._ends(deadline)
        wait = self._retry.first_wait
        while True:
            try:
                left = max(ends - time.monotonic(), 0.001)
                self._transport.signatures(left)
                return
            except ServingError as error:
                # A model that still loads is not found.
                if error.code != "NOT_FOUND" and not is_passing(error):
                    raise
                if time.monotonic() + wait >= ends:
                    raise
            time.sleep(wait)

    def close(self):
        """Closes the connections."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._transport.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _ends(self, deadline):
        seconds = self._deadline if deadline is None else deadline
        return time.monotonic() + seconds

    def _try(self, attempt, ends):
        return with_retries(attempt, self._retry, ends, self._random)

    def _signature(self, name, ends, refresh=False):
        name = name or DEFAULT_SIGNATURE
        # One asks, the others wait for its answer, but not past their time.
        if not self._lock.acquire(timeout=max(ends - time.monotonic(), 0)):
            raise ServingError("DEADLINE_EXCEEDED", "No time is left.")
        try:
            if refresh or name not in self._signatures:
                self._signatures = self._try(self._transport.signatures, ends)
            found = self._signatures
        finally:
            self._lock.release()
        if name not in found:
            names = sorted(n for n, s in found.items() if s.inputs)
            raise ValueError(
                f"The model has no signature {name!r}. It has: {names}."
            )
        return found[name]

    def _map(self, function, parts):
        """Applies a function to all parts, several at a time.

        The first error ends it; parts that have not begun are not sent.
        """
        if len(parts) == 1:
            return [function(parts[0])]
        futures = [self._pool.submit(function, part) for part in parts]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def _transport(url, model, version, label, headers):
    scheme, _, address = url.partition("://")
    if scheme in ("http", "https"):
        return RestTransport(url, model, version, label, headers)
    if scheme in ("grpc", "grpcs") and address:
        from keras_albert.serving.client.grpc_transport import GrpcTransport

        return GrpcTransport(
            address.rstrip("/"),
            model,
            version,
            label,
            headers,
            secure=scheme == "grpcs",
        )
    raise ValueError(
        "A server's URL starts with http://, https://, grpc:// or grpcs://. "
        f"Received: {url!r}."
    )


def _joined(arrays):
    if len(arrays) == 1:
        return arrays[0]
    if any(array.ndim == 0 for array in arrays):
        return np.stack(arrays)
    return np.concatenate(arrays)
