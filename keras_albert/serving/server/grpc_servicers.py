"""The gRPC services of TensorFlow Serving."""

import contextlib
import dataclasses
import functools
import logging
from collections.abc import Callable

import grpc

from keras_albert.serving.protocol.signatures import DEFAULT_SIGNATURE
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.protocol.tensor_messages import fill_tensor
from keras_albert.serving.server.descriptions import code_number
from keras_albert.serving.server.descriptions import signature_map
from keras_albert.serving.server.descriptions import status_response
from keras_albert.serving.server.extra import import_serving_api
from keras_albert.serving.server.message_requests import examples_request_call
from keras_albert.serving.server.message_requests import multi_inference_calls
from keras_albert.serving.server.message_requests import predict_request_call
from keras_albert.serving.server.models.config import configs_from_message
from keras_albert.serving.server.runner import LONG_REPLY_ELEMENTS
from keras_albert.serving.server.runner import LONG_REQUEST_BYTES
from keras_albert.serving.server.runner import num_elements

log = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS = 1024


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


@dataclasses.dataclass(frozen=True)
class _Kind:
    """How one kind of request is answered.

    Attributes:
        response: class of the reply.
        call: function from `LoadedModel` and request to `Call`.
        fill: function that writes the call's result into a reply.
    """

    response: type
    call: Callable
    fill: Callable


class PredictionService:
    """Predict, Classify, Regress, MultiInference, GetModelMetadata.

    Args:
        models: `Models`.
        runner: `Runner`.
        metrics: `Metrics`.
    """

    def __init__(self, models, runner, metrics):
        self._models = models
        self._runner = runner
        self._metrics = metrics
        api = import_serving_api
        self._kinds = {
            "Predict": _Kind(
                api("apis.predict_pb2").PredictResponse,
                predict_request_call,
                _fill_outputs,
            ),
            "Classify": _Kind(
                api("apis.classification_pb2").ClassificationResponse,
                functools.partial(examples_request_call, "classify"),
                lambda response, rows: _fill_classifications(
                    response.result, rows
                ),
            ),
            "Regress": _Kind(
                api("apis.regression_pb2").RegressionResponse,
                functools.partial(examples_request_call, "regress"),
                lambda response, values: _fill_regressions(
                    response.result, values
                ),
            ),
        }
        self._multi = api("apis.inference_pb2").MultiInferenceResponse
        metadata = api("apis.get_model_metadata_pb2")
        self._metadata = metadata.GetModelMetadataResponse

    @contextlib.asynccontextmanager
    async def _held(self, api, spec, context):
        """Counts and times a request, and holds the version it asks for."""
        is_served = spec.name in self._models.names
        async with _errors_of(context):
            with (
                self._metrics.request(spec.name, is_served, "GRPC", api),
                self._models.use(spec.name, *_version_of(spec)) as version,
            ):
                yield version

    async def _answer(self, api, request, context):
        kind = self._kinds[api]
        response = kind.response()
        spec = request.model_spec
        beside = self._runner.beside
        async with self._held(api, spec, context) as version:
            is_long = request.ByteSize() > LONG_REQUEST_BYTES
            call = await beside(is_long, kind.call, version.model, request)
            result = await self._runner.run(
                version, call, context.time_remaining()
            )
            is_long = num_elements(result) > LONG_REPLY_ELEMENTS
            await beside(is_long, kind.fill, response, result)
            _fill_spec(response.model_spec, spec, version)
        return response

    async def Predict(self, request, context):  # noqa: N802  (gRPC's name)
        return await self._answer("Predict", request, context)

    async def Classify(self, request, context):  # noqa: N802
        return await self._answer("Classify", request, context)

    async def Regress(self, request, context):  # noqa: N802
        return await self._answer("Regress", request, context)

    async def MultiInference(self, request, context):  # noqa: N802
        response = self._multi()
        if not request.tasks:
            async with _errors_of(context):
                raise invalid("Inference request must have tasks.")
        spec = request.tasks[0].model_spec
        async with self._held("MultiInference", spec, context) as version:
            if any(t.model_spec.name != spec.name for t in request.tasks):
                raise invalid("All tasks must ask for the same model.")
            calls = await self._runner.beside(
                request.ByteSize() > LONG_REQUEST_BYTES,
                *(multi_inference_calls, version.model, request),
            )
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


class ModelService:
    """GetModelStatus and HandleReloadConfigRequest.

    Args:
        models: `Models`.
    """

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


def _fill_outputs(response, outputs):
    for name, array in outputs.items():
        try:
            fill_tensor(response.outputs[name], array)
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
