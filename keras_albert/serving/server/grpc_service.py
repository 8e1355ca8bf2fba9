"""The gRPC services of TensorFlow Serving."""

import contextlib
import logging
import time

import grpc

from keras_albert.export.extra import import_extra
from keras_albert.serving.protocol.signatures import DEFAULT_SIGNATURE
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.protocol.tensor_messages import fill_tensor
from keras_albert.serving.server.descriptions import code_number
from keras_albert.serving.server.descriptions import signature_map
from keras_albert.serving.server.descriptions import status_response
from keras_albert.serving.server.extra import EXTRA
from keras_albert.serving.server.extra import import_serving_api
from keras_albert.serving.server.message_requests import examples_request_call
from keras_albert.serving.server.message_requests import multi_inference_calls
from keras_albert.serving.server.message_requests import predict_request_call
from keras_albert.serving.server.models.config import configs_from_message

log = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS = 1024
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
            _PredictionService(self._models, self._runner, self._metrics),
            self._server,
        )
        model.add_ModelServiceServicer_to_server(
            _ModelService(self._models), self._server
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


@contextlib.asynccontextmanager
async def _errors_of(context):
    """Ends a request with the code and text of what went wrong."""
    try:
        yield
    except ServingError as error:
        message = error.message
        if len(message) > MAX_ERROR_CHARACTERS:
            message = message[:MAX_ERROR_CHARACTERS] + "...TRUNCATED"
        await context.abort(getattr(grpc.StatusCode, error.code), message)
    except (grpc.aio.AbortError, grpc.RpcError):
        raise
    except Exception:
        log.exception("A gRPC request failed")
        await context.abort(grpc.StatusCode.INTERNAL, "Internal error")


def _version_of(spec):
    """Number and label that a `ModelSpec` asks for."""
    choice = spec.WhichOneof("version_choice")
    number = spec.version.value if choice == "version" else None
    label = spec.version_label if choice == "version_label" else None
    return number, label or None


class _PredictionService:
    """Predict, Classify, Regress, MultiInference, GetModelMetadata."""

    def __init__(self, models, runner, metrics):
        self._models = models
        self._runner = runner
        self._metrics = metrics
        api = import_serving_api
        self._predict = api("apis.predict_pb2").PredictResponse
        self._classify = api("apis.classification_pb2").ClassificationResponse
        self._regress = api("apis.regression_pb2").RegressionResponse
        self._multi = api("apis.inference_pb2").MultiInferenceResponse
        metadata = api("apis.get_model_metadata_pb2")
        self._metadata = metadata.GetModelMetadataResponse

    @contextlib.asynccontextmanager
    async def _answer(self, api, spec, context):
        """Counts and times a request, and holds the version it asks for."""
        started = time.monotonic()
        code = "OK"
        async with _errors_of(context):
            try:
                with self._models.use(spec.name, *_version_of(spec)) as version:
                    yield version
            except ServingError as error:
                code = error.code
                raise
            finally:
                self._metrics.request_count.add(spec.name, code)
                if code == "OK":
                    micros = 1e6 * (time.monotonic() - started)
                    self._metrics.request_latency.observe(
                        micros, spec.name, api, "GRPC"
                    )

    async def Predict(self, request, context):  # noqa: N802  (gRPC's name)
        spec = request.model_spec
        response = self._predict()
        async with self._answer("Predict", spec, context) as version:
            call = predict_request_call(version.model, request)
            outputs = await self._runner.run(
                version, call, context.time_remaining()
            )
            for name, array in outputs.items():
                _fill_output(response.outputs[name], name, array)
            _fill_spec(response.model_spec, spec, version)
        return response

    async def Classify(self, request, context):  # noqa: N802
        spec = request.model_spec
        response = self._classify()
        async with self._answer("Classify", spec, context) as version:
            call = examples_request_call("classify", version.model, request)
            rows = await self._runner.run(
                version, call, context.time_remaining()
            )
            _fill_classifications(response.result, rows)
            _fill_spec(response.model_spec, spec, version)
        return response

    async def Regress(self, request, context):  # noqa: N802
        spec = request.model_spec
        response = self._regress()
        async with self._answer("Regress", spec, context) as version:
            call = examples_request_call("regress", version.model, request)
            values = await self._runner.run(
                version, call, context.time_remaining()
            )
            _fill_regressions(response.result, values)
            _fill_spec(response.model_spec, spec, version)
        return response

    async def MultiInference(self, request, context):  # noqa: N802
        response = self._multi()
        if not request.tasks:
            async with _errors_of(context):
                raise invalid("Inference request must have tasks.")
        spec = request.tasks[0].model_spec
        async with self._answer("MultiInference", spec, context) as version:
            if any(t.model_spec.name != spec.name for t in request.tasks):
                raise invalid("All tasks must ask for the same model.")
            calls = multi_inference_calls(version.model, request)
            for task, call in zip(request.tasks, calls, strict=True):
                result = await self._runner.run(
                    version, call, context.time_remaining()
                )
                answer = response.results.add()
                _fill_spec(answer.model_spec, task.model_spec, version)
                if call.api == "Classify":
                    _fill_classifications(answer.classification_result, result)
                else:
                    _fill_regressions(answer.regression_result, result)
        return response

    async def GetModelMetadata(self, request, context):  # noqa: N802
        response = self._metadata()
        spec = request.model_spec
        async with _errors_of(context):
            if not request.metadata_field:
                raise invalid("GetModelMetadataRequest has no metadata_field.")
            for field in request.metadata_field:
                if field != "signature_def":
                    raise invalid(f"Metadata field {field} is not supported")
            with self._models.use(spec.name, *_version_of(spec)) as version:
                signatures = signature_map(version)
                response.metadata["signature_def"].Pack(signatures)
                response.model_spec.name = spec.name
                response.model_spec.version.value = version.number
        return response


class _ModelService:
    """GetModelStatus and HandleReloadConfigRequest."""

    def __init__(self, models):
        self._models = models
        management = import_serving_api("apis.model_management_pb2")
        self._reloaded = management.ReloadConfigResponse

    async def GetModelStatus(self, request, context):  # noqa: N802
        spec = request.model_spec
        async with _errors_of(context):
            if not spec.name:
                raise invalid("ModelSpec has no name specified.")
            number, _ = _version_of(spec)
            return status_response(self._models.versions(spec.name, number))

    async def HandleReloadConfigRequest(self, request, context):  # noqa: N802
        response = self._reloaded()
        response.status.SetInParent()
        try:
            try:
                configs = configs_from_message(request.config)
            except ValueError as error:
                raise invalid(str(error)) from error
            await self._models.replace(configs)
        except ServingError as error:
            response.status.error_code = code_number(error.code)
            response.status.error_message = error.message
        return response


def _fill_output(message, name, array):
    try:
        fill_tensor(message, array)
    except ValueError as error:
        raise invalid(f"Output {name}: {error}") from error


def _fill_spec(target, asked, version):
    target.name = asked.name
    target.version.value = version.number
    target.signature_name = asked.signature_name or DEFAULT_SIGNATURE


def _fill_classifications(result, rows):
    for row in rows:
        classes = result.classifications.add().classes
        for label, score in row:
            # A string field takes UTF-8 alone.
            classes.add(label=label.decode("utf-8", "replace"), score=score)


def _fill_regressions(result, values):
    for value in values:
        result.regressions.add(value=value)
