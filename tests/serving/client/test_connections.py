"""Judged by servers that answer byte for byte what the test says."""

import socket
import threading
import time

import pytest

from keras_albert.serving.client.connections import HttpConnections
from keras_albert.serving.protocol.statuses import ServingError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """Accepts connections; each runs through its own list of replies.

    A reply is sent once a whole request has come; `None` closes.
    """

    def __init__(self, *connections):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.requests = []
        self.thread = threading.Thread(
            target=self._serve, args=(connections,), daemon=True
        )
        self.thread.start()

    def _serve(self, connections):
        for replies in connections:
            connection, _ = self.socket.accept()
            with connection:
                for reply in replies:
                    if reply is None:
                        break
                    self.requests.append(connection.recv(65536))
                    connection.sendall(reply)
                    if reply is replies[-1]:
                        time.sleep(0.3)


@pytest.fixture
def scripted():
    made = []

    def make(*connections):
        made.append(Scripted(*connections))
        return made[-1]

    yield make
    for server in made:
        server.socket.close()


def test_connections_are_kept(scripted):
    server = scripted([OK, OK])
    connections = HttpConnections(server.url + "/below", {"A": "b"})

    for _ in range(2):
        assert connections.request("POST", "/x", b"1", 5)[0::2] == (200, b"ok")
    connections.close()

    first = server.requests[0]
    assert first.startswith(b"POST /below/x HTTP/1.1\r\n")
    assert b"\r\nA: b\r\n" in first
    assert len(server.requests) == 2


def test_a_connection_that_the_server_closed_is_made_anew(scripted):
    server = scripted([OK, None], [OK])
    connections = HttpConnections(server.url)

    assert connections.request("GET", "/", None, 5)[0] == 200
    time.sleep(0.1)
    assert connections.request("GET", "/", None, 5)[0] == 200


@pytest.mark.parametrize(
    "reply, code",
    [
        (b"no http\r\n\r\n", "UNAVAILABLE"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "UNAVAILABLE"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "DEADLINE_EXCEEDED"),
    ],
)
def test_answers_that_are_none(scripted, reply, code):
    connections = HttpConnections(scripted([reply]).url)

    seconds = 0.2 if code == "DEADLINE_EXCEEDED" else 5
    with pytest.raises(ServingError, match=code):
        connections.request("GET", "/", None, seconds)


def test_the_deadline_is_for_all_of_an_answer(scripted):
    """An answer that comes in drops does not take longer either."""
    server = scripted([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"])
    connections = HttpConnections(server.url)
    started = time.monotonic()

    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED.*0.1 s"):
        connections.request("GET", "/", None, 0.1)
    assert time.monotonic() - started < 1


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"

    with pytest.raises(ServingError, match="UNAVAILABLE.*does not answer"):
        HttpConnections(url).request("GET", "/", None, 1)


@pytest.mark.parametrize("url", ["localhost:8501", "ftp://a", "http://", ""])
def test_what_is_no_url(url):
    with pytest.raises(ValueError, match="http://HOST:PORT"):
        HttpConnections(url)
