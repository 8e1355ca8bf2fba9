"""A server in a thread of this process, and raw connections to servers."""

import asyncio
import contextlib
import json
import socket
import threading
import urllib.error
import urllib.request

from keras_albert.serving.server.server import ModelServer
from keras_albert.serving.server.server import ServerOptions


class RunningServer:
    """A `ModelServer` that runs its event loop in a thread."""

    def __init__(self, configs, **options):
        options = {"port": 0, "grpc_port": 0, "drain_seconds": 0, **options}
        self.loop = asyncio.new_event_loop()
        self.server = ModelServer(configs, ServerOptions(**options))
        self.thread = threading.Thread(
            target=self.loop.run_forever, daemon=True
        )
        self.thread.start()
        try:
            self.run(self.server.start())
        except BaseException:
            self.end_loop()
            raise
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.grpc = f"127.0.0.1:{self.server.grpc_port}"

    def run(self, coroutine, seconds=60):
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        return future.result(seconds)

    def end_loop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def stop(self):
        self.run(self.server.stop())
        self.end_loop()


@contextlib.contextmanager
def running_server(configs, **options):
    server = RunningServer(configs, **options)
    try:
        yield server
    finally:
        server.stop()


def ask(url, body=None, method=None, headers=()):
    """Sends a request; returns status, headers and body whatever the status.

    The body goes as it is if it is bytes, else as JSON.
    """
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    request = urllib.request.Request(
        url, data=body, method=method, headers=dict(headers)
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def connect(url):
    """A bare connection to the server at `url`."""
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def read_all(connection):
    """All bytes until the other side closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
