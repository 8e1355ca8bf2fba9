"""The client's requests over REST; needs no TensorFlow."""

import json

import numpy as np

from keras_albert.serving.client.connections import HttpConnections
from keras_albert.serving.client.values import from_json
from keras_albert.serving.client.values import to_json
from keras_albert.serving.protocol.paths import model_path
from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import code_of_http


class RestTransport:
    """Asks one model of a server over REST, once per call.

    Args:
        url: string, `"http://host:port"`.
        model: string.
        version: int or `None`.
        label: string or `None`.
        headers: dict to send with each request.
    """

    def __init__(self, url, model, version=None, label=None, headers=None):
        self._connections = HttpConnections(url, headers)
        self._path = model_path(model, version, label)
        self._status_path = model_path(model)

    def predict(self, signature, tensors, seconds):
        """Asks for predictions.

        Args:
            signature: `Signature`.
            tensors: dict from input name to NumPy array.
            seconds: float.

        Returns:
            Dict from output name to NumPy array.

        Raises:
            ServingError: with the server's code and message.
        """
        reply = self._post(
            "predict",
            {
                "signature_name": signature.name,
                "inputs": {n: to_json(a) for n, a in tensors.items()},
            },
            seconds,
        )
        outputs = _member(reply, "outputs")
        names = list(signature.outputs)
        if len(names) == 1:
            outputs = {names[0]: outputs}
        if not isinstance(outputs, dict) or set(outputs) != set(names):
            raise ServingError(
                "ABORTED",
                f"The signature {signature.name} has changed meanwhile.",
            )
        return {
            name: from_json(name, outputs[name], info.dtype)
            for name, info in signature.outputs.items()
        }

    def classify(self, signature_name, examples, seconds):
        """Asks for classes.

        Args:
            signature_name: string.
            examples: list of dict from feature name to values.
            seconds: float.

        Returns:
            List with, for each example, a list of `(label, score)`.
        """
        results = self._ask_examples(
            "classify", signature_name, examples, seconds
        )
        return [[(label, score) for label, score in row] for row in results]

    def regress(self, signature_name, examples, seconds):
        """Asks for numbers.

        Returns:
            List of float, one per example.
        """
        return self._ask_examples("regress", signature_name, examples, seconds)

    def _ask_examples(self, verb, signature_name, examples, seconds):
        body = {
            "signature_name": signature_name,
            "examples": [
                {name: _feature(value) for name, value in example.items()}
                for example in examples
            ],
        }
        return _member(self._post(verb, body, seconds), "results")

    def signatures(self, seconds):
        """Asks what the model takes and gives.

        Returns:
            Dict from name to `Signature`.
        """
        reply = self._ask("GET", f"{self._path}/metadata", None, seconds)
        found = _member(_member(reply, "metadata"), "signature_def")
        return {
            name: Signature(
                name, _infos(s.get("inputs")), _infos(s.get("outputs"))
            )
            for name, s in _member(found, "signature_def").items()
        }

    def status(self, seconds):
        """Asks what became of the model's versions.

        Returns:
            List of dict: `version`, `state`, `error`.
        """
        reply = self._ask("GET", self._status_path, None, seconds)
        return [
            {
                "version": int(v["version"]),
                "state": v["state"],
                "error": v["status"].get("error_message", ""),
            }
            for v in reply.get("model_version_status", [])
        ]

    def _post(self, verb, body, seconds):
        data = json.dumps(body, ensure_ascii=False)
        return self._ask("POST", f"{self._path}:{verb}", data.encode(), seconds)

    def _ask(self, method, path, body, seconds):
        status, headers, content = self._connections.request(
            method, path, body, seconds
        )
        text = content.decode("utf-8", "replace")
        try:
            reply = json.loads(text)
        except ValueError:
            reply = None
        if status == 200 and isinstance(reply, dict):
            return reply
        message = text[:200]
        if isinstance(reply, dict) and "error" in reply:
            message = reply["error"]
        if status == 200:
            raise ServingError("INTERNAL", f"The answer is no JSON: {message}")
        error = ServingError(code_of_http(status), message or f"HTTP {status}")
        error.retry_after = _seconds(headers.get("Retry-After"))
        raise error

    def close(self):
        """Closes the connections."""
        self._connections.close()


def _member(value, name):
    try:
        return value[name]
    except (KeyError, TypeError):
        raise ServingError(
            "INTERNAL", f"The answer has no {name!r}: {value!r:.200}"
        ) from None


def _infos(messages):
    return {
        name: TensorInfo(info.get("name", ""), info["dtype"], _shape(info))
        for name, info in sorted((messages or {}).items())
    }


def _shape(info):
    shape = info.get("tensor_shape", {})
    if shape.get("unknown_rank"):
        return None
    return tuple(int(dim["size"]) for dim in shape.get("dim", []))


def _feature(value):
    """A feature's values for JSON; a list stays a list."""
    if isinstance(value, (str, bytes)):
        value = np.array([value], object)
        value[0] = (
            value[0] if isinstance(value[0], bytes) else value[0].encode()
        )
        return to_json(value)[0]
    if isinstance(value, (list, tuple)):
        return [_feature(element) for element in value]
    if isinstance(value, np.ndarray):
        return [_feature(element) for element in value]
    return value.item() if isinstance(value, np.generic) else value


def _seconds(text):
    return float(text) if text and text.isdecimal() else 0.0
