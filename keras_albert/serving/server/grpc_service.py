"""Listens for gRPC, as TensorFlow Serving does."""

import grpc

from keras_albert.export.extra import import_extra
from keras_albert.serving.server.extra import EXTRA
from keras_albert.serving.server.extra import import_serving_api
from keras_albert.serving.server.grpc_servicers import ModelService
from keras_albert.serving.server.grpc_servicers import PredictionService

# The names under which TensorFlow Serving tells of its health.
HEALTH_NAMES = ("", "ModelService", "PredictionService")


class GrpcService:
    """Listens for gRPC.

    Args:
        models: `Models`.
        runner: `Runner`.
        metrics: `Metrics`.
        max_message_bytes: int.
    """

    def __init__(self, models, runner, metrics, max_message_bytes):
        self._models = models
        self._runner = runner
        self._metrics = metrics
        self._max_message_bytes = max_message_bytes
        self._server = None
        self._health = None

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
        health = import_extra("grpc_health.v1.health", EXTRA)
        health_grpc = import_extra("grpc_health.v1.health_pb2_grpc", EXTRA)
        prediction = import_serving_api("apis.prediction_service_pb2_grpc")
        model = import_serving_api("apis.model_service_pb2_grpc")
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self._max_message_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
            ]
        )
        prediction.add_PredictionServiceServicer_to_server(
            PredictionService(self._models, self._runner, self._metrics),
            self._server,
        )
        model.add_ModelServiceServicer_to_server(
            ModelService(self._models), self._server
        )
        self._health = health.aio.HealthServicer()
        health_grpc.add_HealthServicer_to_server(self._health, self._server)
        await self._set_health(True)
        address = f"[{host}]" if ":" in host else host
        try:
            port = self._server.add_insecure_port(f"{address}:{port}")
        except RuntimeError as error:
            raise OSError(str(error)) from error
        await self._server.start()
        return port

    async def _set_health(self, is_serving):
        messages = import_extra("grpc_health.v1.health_pb2", EXTRA)
        statuses = messages.HealthCheckResponse
        status = statuses.SERVING if is_serving else statuses.NOT_SERVING
        for name in HEALTH_NAMES:
            await self._health.set(name, status)

    async def become_unready(self):
        """Tells those who ask for the health that the server ends."""
        if self._server:
            await self._set_health(False)

    async def stop(self, seconds):
        """Refuses new requests and answers those that have come.

        Args:
            seconds: float. How long the answers may take.
        """
        if self._server:
            await self._server.stop(seconds)
