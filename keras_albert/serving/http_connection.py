"""What a connection may do: slow, silent, half-closed and huge requests."""

import asyncio
import zlib

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from keras_albert.serving.statuses import ServingError

READ_BYTES = 2**16


class TooLargeError(Exception):
    """A body of more bytes than are allowed."""


class Connection(RequestHandler):
    """A client's connection that may end its sending half.

    A client that has sent its request and closed its half of the connection
    still gets its answer; one that does so amid a body has gone.
    """

    is_reading_body = False

    def eof_received(self):
        """Keeps the sending half open while an answer is due."""
        super().eof_received()
        if self.is_reading_body:
            return False
        self.close()
        return True


class HttpServer(web.Server):
    """aiohttp's server with `Connection`s."""

    def __init__(self, handler, **options):
        self._options = options
        super().__init__(handler, **options)

    def __call__(self):
        return Connection(
            self, loop=asyncio.get_running_loop(), **self._options
        )


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
