"""The URLs of a server: written for clients, read for the REST API."""

import dataclasses
import re
from urllib.parse import quote
from urllib.parse import unquote

from keras_albert.serving.protocol.statuses import invalid

METRICS_PATH = "/monitoring/prometheus/metrics"
# Versions are int64 in messages.
LARGEST_VERSION = 2**63 - 1
# `?`, too, is part of a name here: a query breaks the match, as in the server.
_VERSION = r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(
    rf"(?i:/v1/models/(?P<name>[^/:]+){_VERSION}):(?P<verb>[a-zA-Z]+)"
)
_GET = re.compile(
    rf"(?i:/v1/models(?:/(?P<name>[^/:]+))?{_VERSION}(?P<metadata>/metadata)?)"
)
VERBS = ("classify", "regress", "predict")


@dataclasses.dataclass(frozen=True)
class Target:
    """What a URL stands for.

    Attributes:
        verb: `"predict"`, `"classify"`, `"regress"`, `"metadata"` or
            `"status"`.
        name: string, the model.
        version: int or `None`.
        label: string or `None`.
    """

    verb: str
    name: str
    version: int | None = None
    label: str | None = None


def model_path(name, version=None, label=None):
    """The path of a model, or of one of its versions.

    Args:
        name: string.
        version: int, or `None` for the latest.
        label: string that stands for a version, or `None`.

    Returns:
        String.

    >>> model_path("shop reviews", label="stable")
    '/v1/models/shop%20reviews/labels/stable'
    """
    path = f"/v1/models/{quote(name, safe='')}"
    if version is not None:
        return f"{path}/versions/{version}"
    if label is not None:
        return f"{path}/labels/{quote(label, safe='')}"
    return path


def is_api(path):
    """Whether a path belongs to the API; elsewhere the server says 404."""
    return path[:4].lower() == "/v1/"


def parse_path(method, path):
    """Reads the target of a request.

    Args:
        method: string, such as `"GET"`.
        path: string as it came: percent-encoded, with its query.

    Returns:
        `Target`.

    Raises:
        ServingError: INVALID_ARGUMENT.

    >>> parse_path("POST", "/v1/models/reviews/versions/2:predict")
    Target(verb='predict', name='reviews', version=2, label=None)
    """
    pattern = {"GET": _GET, "POST": _POST}.get(method)
    match = pattern and pattern.fullmatch(path)
    if not match:
        raise invalid(f"Malformed request: {method} {path}")
    found = match.groupdict()
    verb = found.get("verb")
    if method == "GET":
        verb = "metadata" if found["metadata"] else "status"
        if found["name"] is None:
            raise invalid("Missing model name in request.")
    elif verb not in VERBS:
        raise invalid(f"Malformed request: {method} {path}")
    label = found["label"]
    return Target(
        verb,
        unquote(found["name"]),
        _version(found["version"]),
        None if label is None else unquote(label),
    )


def _version(digits):
    if digits is None:
        return None
    if len(digits) > 19 or int(digits) > LARGEST_VERSION:
        raise invalid(f"Failed to convert version: {digits} to numeric.")
    return int(digits)
