"""What a connection may do: slow, silent, half-closed and huge requests."""

import asyncio
import contextlib
import resource
import zlib

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from keras_albert.serving.protocol.statuses import ServingError

READ_BYTES = 2**16
MAX_CONNECTIONS = 10_000


class TooLargeError(Exception):
    """A body of more bytes than are allowed."""


class Connection(RequestHandler):
    """A client's connection that may end its sending half.

    A client that has sent its request and closed its half of the connection
    still gets its answer; one that does so amid a body has gone.
    """

    is_busy = False
    is_reading_body = False
    #: When it was made or last answered, as the event loop tells it.
    active_at = 0.0

    def eof_received(self):
        """Keeps the sending half open while an answer is due."""
        super().eof_received()
        waits = self._waiter is not None and not self._waiter.done()
        if self.is_reading_body or waits:
            return False  # no answer is due
        self.close()
        return True


class HttpServer(web.Server):
    """aiohttp's server with `Connection`s, and no more than it can hold.

    Args:
        handler: coroutine from a request to a response.
        max_connections: int. Of more, the one that has been silent longest
            is closed: those that send nothing must not keep others out.
        **options: for each `Connection`.
    """

    def __init__(self, handler, max_connections, **options):
        self._max_connections = max_connections
        self._options = options
        super().__init__(self._answer, **options)
        self._handler = handler

    async def _answer(self, request):
        connection = request.protocol
        connection.is_busy = True
        try:
            return await self._handler(request)
        finally:
            connection.is_busy = False
            connection.active_at = asyncio.get_running_loop().time()

    def __call__(self):
        return Connection(
            self, loop=asyncio.get_running_loop(), **self._options
        )

    def connection_made(self, handler, transport):
        """Takes a connection, and another's place where there is none."""
        super().connection_made(handler, transport)
        handler.active_at = asyncio.get_running_loop().time()
        if len(self.connections) > self._max_connections:
            idle = (c for c in self.connections if not c.is_busy)
            min(idle, key=lambda c: c.active_at).force_close()


def connections_to_hold():
    """Allows this process as many files as it may have.

    Returns:
        Int, the connections that leave enough files for all else.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(min(soft // 2, MAX_CONNECTIONS), 1)


async def read_body(request, max_bytes, seconds):
    """Reads the body of a request.

    Args:
        request: aiohttp's request.
        max_bytes: int.
        seconds: float. How long its sending may take.

    Returns:
        Bytes. A body in gzip comes unpacked, and empty if it cannot be.

    Raises:
        TooLargeError: as soon as it is known.
        ServingError: DEADLINE_EXCEEDED if it does not come in time.
    """
    if (request.content_length or 0) > max_bytes:
        raise TooLargeError
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    connection = request.protocol
    connection.is_reading_body = True
    try:
        async with asyncio.timeout(seconds):
            body = await _read(request.content, max_bytes)
    except TimeoutError:
        raise ServingError(
            "DEADLINE_EXCEEDED",
            f"The request's body did not come within {seconds:g} s.",
        ) from None
    finally:
        connection.is_reading_body = False
    if request.headers.get("Content-Encoding", "").lower() == "gzip":
        return gunzip(body, max_bytes)
    return body


async def _read(stream, max_bytes):
    body = bytearray()
    while not stream.at_eof():
        body += await stream.read(READ_BYTES)
        if len(body) > max_bytes:
            raise TooLargeError
    return bytes(body)


def gunzip(data, max_bytes):
    """Unpacks gzip.

    Args:
        data: bytes.
        max_bytes: int.

    Returns:
        Bytes; none if `data` is no gzip, as in the server.

    Raises:
        TooLargeError: if it holds more than `max_bytes`.
    """
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        body = unpacker.decompress(data, max_bytes + 1)
    except zlib.error:
        return b""
    if len(body) > max_bytes:
        raise TooLargeError
    return body if unpacker.eof else b""
