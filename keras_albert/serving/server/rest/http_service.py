"""HTTP around the REST API: its page, its metrics, its limits."""

import logging

from aiohttp import web

from keras_albert.serving.protocol.paths import METRICS_PATH
from keras_albert.serving.protocol.paths import is_api
from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.rest.http_connection import HttpServer
from keras_albert.serving.server.rest.http_connection import TooLargeError
from keras_albert.serving.server.rest.http_connection import connections_to_hold
from keras_albert.serving.server.rest.http_connection import read_body
from keras_albert.serving.server.rest.json_replies import error_reply
from keras_albert.serving.server.rest.page import page

log = logging.getLogger(__name__)

# A body that takes longer to come has no sender any more.
BODY_SECONDS = 30.0
# The first request, and the next one, must come within this time.
IDLE_SECONDS = 75.0
MAX_HEADER_BYTES = 16 * 2**10
NOT_FOUND_PAGE = (
    "<html><head><title>404 Not Found</title></head>"
    "<body><h1>Not Found</h1></body></html>"
)
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
# The page runs its own script and asks this server, nothing else.
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
    ),
    "Cache-Control": "no-store",
}


class HttpService:
    """Answers HTTP requests.

    Args:
        api: `RestApi`.
        models: `Models`.
        metrics: `Metrics`.
        max_body_bytes: int.
        allow_cors: bool. Whether pages of other origins may ask.
        body_seconds: float. How long the sending of a body may take.
        idle_seconds: float. How long a connection may wait for a request.
        shutdown_seconds: float. How long answers may take at the end.
        max_connections: int. Defaults to what the process may have.
    """

    def __init__(
        self,
        api,
        models,
        metrics,
        max_body_bytes,
        allow_cors=False,
        body_seconds=BODY_SECONDS,
        idle_seconds=IDLE_SECONDS,
        shutdown_seconds=30.0,
        max_connections=None,
    ):
        self._api = api
        self._models = models
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes
        self._allow_cors = allow_cors
        self._body_seconds = body_seconds
        self._idle_seconds = idle_seconds
        self._shutdown_seconds = shutdown_seconds
        self._max_connections = max_connections or connections_to_hold()
        self._runner = None

    async def start(self, host, port):
        """Listens.

        Args:
            host: string.
            port: int; 0 for any that is free.

        Returns:
            The port.

        Raises:
            OSError: if the port is in use.
        """
        server = HttpServer(
            self._handle,
            self._max_connections,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=self._idle_seconds,
            lingering_time=2.0,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
        self._runner = web.ServerRunner(
            server, shutdown_timeout=self._shutdown_seconds
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, backlog=1024).start()
        return self._runner.addresses[0][1]

    async def stop(self):
        """Stops listening, answers what has come, then closes."""
        if self._runner:
            await self._runner.cleanup()

    async def _handle(self, request):
        try:
            response = await self._respond(request)
        except TooLargeError:
            response = self._json(
                413,
                error_reply(
                    f"The body is larger than {self._max_body_bytes} bytes. "
                    "Send fewer rows at a time, or start the server with a "
                    "larger limit."
                ),
            )
            response.force_close()
        except ServingError as error:  # the body did not come
            response = self._json(
                HTTP_CODES[error.code], error_reply(error.message)
            )
            response.force_close()
        except (ConnectionError, web.RequestPayloadError):
            raise ConnectionResetError("The client has gone.") from None
        except Exception:
            log.exception("%s %s failed", request.method, request.raw_path)
            response = self._json(500, error_reply("Internal error"))
        if self._api.is_ending:
            response.force_close()
        return response

    async def _respond(self, request):
        method, path = request.method, _path(request.raw_path)
        if is_api(path):
            if method == "OPTIONS":
                return self._preflight(request)
            body = await read_body(
                request, self._max_body_bytes, self._body_seconds
            )
            reply = await self._api.answer(method, path, body)
            return self._json(reply.status, reply.body)
        if method == "GET" and path == METRICS_PATH:
            return web.Response(text=self._metrics.page())
        if method == "GET" and path in ("/", "/index.html"):
            return web.Response(
                text=page(self._models.names),
                content_type="text/html",
                headers=PAGE_HEADERS,
            )
        return web.Response(
            status=404, text=NOT_FOUND_PAGE, content_type="text/html"
        )

    def _json(self, status, body):
        headers = CORS_HEADERS if self._allow_cors else None
        return web.Response(
            status=status,
            body=body,
            content_type="application/json",
            headers=headers,
        )

    def _preflight(self, request):
        origin = request.headers.get("Origin", "")
        is_origin = origin.startswith(("http://", "https://"))
        return self._json(200 if is_origin else 400, b"")


def _path(raw):
    """The path of a request whose line names the whole URL, too."""
    if raw.lower().startswith(("http://", "https://")):
        rest = raw.split("/", 3)
        return "/" + (rest[3] if len(rest) > 3 else "")
    return raw
