"""Clients that are slow, silent, gone, or send too much."""

import asyncio
import contextlib
import gzip
import json
import resource
import time

import pytest
from aiohttp import web

from keras_albert.serving.server.rest.http_connection import HttpServer
from keras_albert.serving.server.rest.http_connection import TooLargeError
from keras_albert.serving.server.rest.http_connection import connections_to_hold
from keras_albert.serving.server.rest.http_connection import gunzip
from tests.serving.running_server import ask
from tests.serving.running_server import connect
from tests.serving.running_server import read_all

BODY = b'{"instances": [1.0]}'
PATH = "/v1/models/half/versions/1:predict"


def head(length, *more):
    lines = [
        f"POST {PATH} HTTP/1.1",
        "Host: localhost",
        f"Content-Length: {length}",
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.fixture
def raw(server):
    with contextlib.closing(connect(server.url)) as connection:
        yield connection


@pytest.fixture
def still_serves(server):
    """After the test, and at once: others get their answers."""
    yield
    started = time.monotonic()
    status, _, body = ask(server.url + PATH, BODY)
    assert (status, json.loads(body)) == (200, {"predictions": [2.5]})
    assert time.monotonic() - started < 5


pytestmark = pytest.mark.usefixtures("still_serves")


def test_a_client_that_ends_its_half_gets_its_answer(raw):
    raw.sendall(head(len(BODY)) + BODY)
    raw.shutdown(1)

    reply = read_all(raw)

    assert reply.startswith(b"HTTP/1.1 200 ")
    assert b'"predictions": [2.5]' in reply


def test_a_client_that_ends_amid_its_body_has_gone(raw):
    raw.sendall(head(100) + b"{")
    time.sleep(0.1)
    raw.shutdown(1)
    started = time.monotonic()

    assert read_all(raw) == b""
    assert time.monotonic() - started < 0.9  # not only when time is over


@pytest.mark.parametrize("data", [b"", b"POST /v1/models/half:pre"])
def test_a_client_that_ends_before_its_request_is_let_go(raw, data):
    raw.sendall(data)
    time.sleep(0.1)
    raw.shutdown(1)
    started = time.monotonic()

    assert read_all(raw) == b""
    assert time.monotonic() - started < 0.9


def test_a_client_that_ends_after_its_answer_is_let_go(raw):
    raw.sendall(head(len(BODY)) + BODY)
    assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")
    raw.shutdown(1)

    assert read_all(raw) == b""


def test_a_body_that_does_not_come_is_not_waited_for(raw, server):
    raw.sendall(head(100) + b'{"inst')
    status, _, _ = ask(server.url + PATH, BODY)  # others are not blocked
    reply = read_all(raw)

    assert status == 200
    assert reply.startswith(b"HTTP/1.1 504 ")
    assert b"did not come within 1 s" in reply


def test_a_body_that_comes_byte_by_byte_is_read(raw):
    data = head(len(BODY)) + BODY
    for i in range(0, len(data), 9):
        raw.sendall(data[i : i + 9])
        time.sleep(0.005)

    assert b'"predictions": [2.5]' in raw.recv(65536)


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(raw):
    raw.sendall(head(10**12))

    reply = read_all(raw)

    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"larger than 1048576 bytes" in reply


def test_a_chunked_body_that_is_too_large_is_refused(raw):
    lines = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    raw.sendall(lines)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with contextlib.suppress(ConnectionError):
        for _ in range(40):
            raw.sendall(chunk)

    with contextlib.suppress(ConnectionError):
        assert raw.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_small_gzip_that_becomes_too_large_is_refused(server):
    bomb = gzip.compress(b" " * 2**26)
    status, _, _ = ask(
        server.url + PATH, bomb, headers=[("Content-Encoding", "gzip")]
    )

    assert len(bomb) < 2**20
    assert status == 413


def test_expect_100_continue(raw):
    raw.sendall(head(len(BODY), "Expect: 100-continue"))
    assert raw.recv(1024).startswith(b"HTTP/1.1 100 ")
    raw.sendall(BODY)
    assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS
    ],
)
def test_what_is_no_http_is_refused(raw, data):
    raw.sendall(data)
    raw.shutdown(1)

    with contextlib.suppress(ConnectionResetError):
        reply = read_all(raw)
        assert reply == b"" or reply.startswith(b"HTTP/1.")
        assert b" 200 " not in reply[:20]


def test_silent_clients_block_nobody(server):
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            silent = stack.enter_context(connect(server.url))
            silent.sendall(b"POST /v1/models/half:pre")
        status, _, _ = ask(server.url + PATH, BODY)
    assert status == 200


def test_requests_in_one_go_are_answered_in_turn(raw):
    raw.sendall((head(len(BODY)) + BODY) * 3)
    reply = b""
    while reply.count(b'"predictions"') < 3:
        reply += raw.recv(65536)
    assert reply.count(b"HTTP/1.1 200 ") == 3


def test_the_longest_silent_make_place_for_others():
    """A server that can hold three connections still answers the fourth."""

    async def run():
        async def answer(request):
            await asyncio.sleep(0.2 if request.path == "/slow" else 0)
            return web.Response(text="ok")

        server = HttpServer(answer, max_connections=3)
        runner = web.ServerRunner(server)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        writers = []

        async def open_one():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            await asyncio.sleep(0.02)
            return reader, writer

        def ask(connection, path):
            request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"
            connection[1].write(request.encode())

        async def read(connection):
            reply = connection[0].readuntil(b"ok")
            reply = await asyncio.wait_for(reply, 5)
            assert reply.startswith(b"HTTP/1.1 200 OK")

        busy, used, silent = [await open_one() for _ in range(3)]
        ask(used, "/")
        await read(used)
        ask(busy, "/slow")
        last = await open_one()
        assert await asyncio.wait_for(silent[0].read(), 5) == b""
        ask(last, "/")
        await read(last)
        await read(busy)
        ask(used, "/")  # it has kept its connection
        await read(used)
        for writer in writers:
            writer.close()
        await runner.cleanup()

    asyncio.run(run())


def test_the_process_may_hold_all_it_is_allowed():
    number = connections_to_hold()

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard
    assert 0 < number <= soft


def test_gunzip():
    assert gunzip(gzip.compress(b"abc"), 3) == b"abc"
    assert gunzip(b"abc", 3) == b""
    assert gunzip(gzip.compress(b"abc")[:-9], 3) == b""
    with pytest.raises(TooLargeError):
        gunzip(gzip.compress(b"abcd"), 3)
