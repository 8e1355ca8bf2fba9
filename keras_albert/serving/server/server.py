"""The local server: models, REST and gRPC, from start to graceful end."""

import asyncio
import contextlib
import dataclasses
import os
import signal

from keras_albert.export.extra import import_extra
from keras_albert.serving.server.batching_parameters import BatchingParameters
from keras_albert.serving.server.extra import EXTRA
from keras_albert.serving.server.models.config_following import follow_configs
from keras_albert.serving.server.ports import check_free


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """How a server serves.

    Args:
        host: string. Defaults to `"127.0.0.1"`: this machine alone.
        port: int. REST; 0 for any that is free.
        grpc_port: int, 0 for any that is free, or `None` for no gRPC.
        batching: `BatchingParameters`, or `None` to compute requests one by
            one.
        max_body_bytes: int. Larger requests are refused.
        timeout_seconds: float. How long the model may take for a REST
            request.
        body_seconds: float. How long the sending of a request may take.
        poll_seconds: float. How often folders are looked at.
        load_retries: int. How often a new version that does not load is tried
            again.
        retry_seconds: float. How long to wait before.
        drain_seconds: float. How long the server goes on after it has said
            that it is not ready any more.
        shutdown_seconds: float. How long answers may take after that.
        allow_cors: bool. Whether web pages of other origins may ask.
    """

    host: str = "127.0.0.1"
    port: int = 8501
    grpc_port: int | None = 8500
    batching: BatchingParameters | None = None
    max_body_bytes: int = 16 * 2**20
    timeout_seconds: float = 30.0
    body_seconds: float = 30.0
    poll_seconds: float = 1.0
    load_retries: int = 5
    retry_seconds: float = 60.0
    drain_seconds: float = 0.5
    shutdown_seconds: float = 30.0
    allow_cors: bool = False

    def __post_init__(self):
        limits = ("max_body_bytes", "timeout_seconds", "body_seconds")
        for name in (*limits, "poll_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"`{name}` must be greater than 0. "
                    f"Received: {getattr(self, name)}."
                )
        waits = ("retry_seconds", "drain_seconds", "shutdown_seconds")
        for name in ("load_retries", *waits):
            if not getattr(self, name) >= 0:
                raise ValueError(
                    f"`{name}` must not be negative. "
                    f"Received: {getattr(self, name)}."
                )
        if self.port and self.port == self.grpc_port:
            raise ValueError(
                "REST and gRPC need a port each. Received: "
                f"{self.port} for both."
            )

    @property
    def ports(self):
        """The ports to listen at."""
        return [p for p in (self.port, self.grpc_port) if p is not None]


class ModelServer:
    """Serves SavedModels as TensorFlow Serving does, for trying them out.

    The same URLs, JSON, messages, errors and codes, on a laptop without
    Docker. In production use TensorFlow Serving.

    Args:
        models: list of `ModelConfig`.
        options: `ServerOptions`.

    Example:

    ```python
    config = ModelConfig("reviews", "served/reviews")
    async with ModelServer([config], ServerOptions(port=0)) as server:
        print(server.port)
        ...
    ```
    """

    def __init__(self, models, options=None):
        self._configs = list(models)
        self._options = options or ServerOptions()
        self.port = None
        self.grpc_port = None

    @property
    def configs(self):
        """List of `ModelConfig`: what the server was made for."""
        return list(self._configs)

    async def start(self):
        """Loads the models, then opens the ports.

        Raises:
            ImportError: if a package of the extra `serving` is missing.
            OSError: if a port is in use; before models are loaded.
            ValueError: if a model cannot be served.
        """
        import_extra("aiohttp", EXTRA)
        check_free(self._options.host, self._options.ports)
        from keras_albert.serving.server.metrics import Metrics
        from keras_albert.serving.server.models.models import Models
        from keras_albert.serving.server.rest.api import RestApi
        from keras_albert.serving.server.rest.http_service import HttpService
        from keras_albert.serving.server.runner import Runner

        options = self._options
        metrics = Metrics()
        self._models = Models(
            self._configs,
            metrics,
            options.poll_seconds,
            options.load_retries,
            options.retry_seconds,
        )
        self._runner = Runner(metrics, options.batching)
        self._api = RestApi(
            self._models, self._runner, metrics, options.timeout_seconds
        )
        self._http = HttpService(
            self._api,
            self._models,
            metrics,
            options.max_body_bytes,
            options.allow_cors,
            options.body_seconds,
            shutdown_seconds=options.shutdown_seconds,
        )
        self._grpc = None
        try:
            await self._models.start()
            await self._open_ports(metrics)
        except BaseException:
            await self._close()
            raise

    async def _open_ports(self, metrics):
        options = self._options
        self.port = await self._http.start(options.host, options.port)
        if options.grpc_port is None:
            return
        from keras_albert.serving.server.grpc_service import GrpcService

        self._grpc = GrpcService(
            self._models, self._runner, metrics, options.max_body_bytes
        )
        self.grpc_port = await self._grpc.start(options.host, options.grpc_port)

    async def reload(self, models):
        """Takes another list of models.

        Args:
            models: list of `ModelConfig`.

        Raises:
            ServingError: if a new one does not load; the old ones stay.
        """
        await self._models.replace(models)

    async def stop(self):
        """Says that it is not ready, answers what has come, then ends."""
        self._api.is_ending = True
        if self._grpc:
            await self._grpc.become_unready()
        await asyncio.sleep(self._options.drain_seconds)
        await self._close()

    async def _close(self):
        stopping = [self._http.stop()]
        if self._grpc:
            stopping.append(self._grpc.stop(self._options.shutdown_seconds))
        await asyncio.gather(*stopping)
        await self._models.close()
        await asyncio.to_thread(self._runner.close)

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *error):
        await self.stop()


async def serve_until_signal(
    server, on_ready, read_configs=None, config_poll_seconds=0
):
    """Runs a server until Ctrl-C or SIGTERM.

    A second signal ends it at once.

    Args:
        server: `ModelServer`.
        on_ready: function without arguments, called when the ports are open.
        read_configs: function without arguments to the list of `ModelConfig`
            to follow, or `None`.
        config_poll_seconds: float. How often to call it; 0 for never.
    """
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()

    def on_signal():
        if ending.is_set():
            os._exit(1)
        ending.set()

    with contextlib.ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, on_signal)
            stack.callback(loop.remove_signal_handler, number)
        starting = asyncio.ensure_future(server.start())
        stopped = asyncio.ensure_future(ending.wait())
        await asyncio.wait(
            [starting, stopped], return_when=asyncio.FIRST_COMPLETED
        )
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return
        starting.result()
        following = None
        if read_configs is not None and config_poll_seconds:
            following = asyncio.create_task(
                follow_configs(
                    server, read_configs, config_poll_seconds, server.configs
                )
            )
        on_ready()
        await stopped
        if following:
            following.cancel()
        await server.stop()
