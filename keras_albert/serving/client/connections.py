"""Requests over HTTP/1.1 connections that are kept open."""

import http.client
import ssl
import threading
import time
from urllib.parse import urlsplit

from keras_albert.serving.protocol.statuses import ServingError

READ_BYTES = 2**16


class HttpConnections:
    """A pool of connections to one server; any thread may ask.

    Args:
        url: string, `"http://host:port"` or `"https://..."`; a path stands
            before that of each request.
        headers: dict to send with each request, such as an `Authorization`.

    Raises:
        ValueError: if the URL cannot be read.
    """

    def __init__(self, url, headers=None):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"A URL is written as http://HOST:PORT. Received: {url!r}."
            )
        self._secure = parts.scheme == "https"
        self._address = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._headers = dict(headers or {})
        self._idle = []
        self._lock = threading.Lock()
        self._closed = False
        self._name = f"{parts.scheme}://{parts.netloc}"

    def request(self, method, path, body, seconds):
        """Asks once.

        Args:
            method: string.
            path: string.
            body: bytes or `None`.
            seconds: float, for all of it.

        Returns:
            `(status, headers, body)`.

        Raises:
            ServingError: UNAVAILABLE if the server does not answer,
                DEADLINE_EXCEEDED if not in time.
        """
        ends = time.monotonic() + seconds
        connection, is_fresh = self._take()
        try:
            return self._exchange(connection, method, path, body, ends)
        except TimeoutError:
            connection.close()
            raise ServingError(
                "DEADLINE_EXCEEDED",
                f"{self._name} did not answer within {seconds:.3g} s.",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if is_fresh:
                raise ServingError(
                    "UNAVAILABLE", f"{self._name} does not answer: {error!r}"
                ) from error
        # The server closes connections that were idle for long.
        self._drop_idle()
        return self.request(method, path, body, ends - time.monotonic())

    def _take(self):
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        host, port = self._address
        if self._secure:
            return (
                http.client.HTTPSConnection(
                    host, port, context=ssl.create_default_context()
                ),
                True,
            )
        return http.client.HTTPConnection(host, port), True

    def _exchange(self, connection, method, path, body, ends):
        _set_timeout(connection, ends)
        connection.request(method, self._prefix + path, body, self._headers)
        response = connection.getresponse()
        parts = []
        while True:
            _set_timeout(connection, ends)
            part = response.read1(READ_BYTES)
            if not part:
                break
            parts.append(part)
        content = b"".join(parts)
        if response.length:  # it ended too early
            raise http.client.IncompleteRead(content, response.length)
        response.close()  # else the connection takes no further request
        if response.will_close:
            connection.close()
        else:
            self._give_back(connection)
        return response.status, response.headers, content

    def _give_back(self, connection):
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self):
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self):
        """Closes all connections."""
        self._closed = True
        self._drop_idle()


def _set_timeout(connection, ends):
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.timeout = left
    if connection.sock is not None:
        connection.sock.settimeout(left)
