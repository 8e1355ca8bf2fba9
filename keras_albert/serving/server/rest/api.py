"""The REST API without HTTP: a request's parts in, status and body out."""

import dataclasses
import json

from keras_albert.serving.protocol.paths import parse_path
from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.calls import classify_call
from keras_albert.serving.server.calls import predict_call
from keras_albert.serving.server.calls import regress_call
from keras_albert.serving.server.calls import rest_signature
from keras_albert.serving.server.descriptions import metadata_message
from keras_albert.serving.server.descriptions import status_message
from keras_albert.serving.server.rest.json_examples import classify_reply
from keras_albert.serving.server.rest.json_examples import regress_reply
from keras_albert.serving.server.rest.json_examples import serialized_examples
from keras_albert.serving.server.rest.json_replies import error_reply
from keras_albert.serving.server.rest.json_replies import predict_reply
from keras_albert.serving.server.rest.json_requests import parse_json
from keras_albert.serving.server.rest.json_requests import predict_inputs
from keras_albert.serving.server.rest.json_requests import signature_name
from keras_albert.serving.server.runner import LONG_REPLY_ELEMENTS
from keras_albert.serving.server.runner import LONG_REQUEST_BYTES
from keras_albert.serving.server.runner import num_elements


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer to a REST request.

    Attributes:
        status: int, HTTP's.
        body: bytes, JSON.
    """

    status: int
    body: bytes


class RestApi:
    """Answers REST requests.

    Args:
        models: `Models`.
        runner: `Runner`.
        metrics: `Metrics`.
        timeout_seconds: float. How long the model may take.
    """

    def __init__(self, models, runner, metrics, timeout_seconds=30.0):
        self._models = models
        self._runner = runner
        self._metrics = metrics
        self._timeout_seconds = timeout_seconds
        #: Set when the server ends: metadata, the probe of readiness, is off.
        self.is_ending = False

    async def answer(self, method, path, body=b""):
        """Answers one request.

        Args:
            method: string, such as `"POST"`.
            path: string as it came, with its query.
            body: bytes.

        Returns:
            `Reply`.
        """
        try:
            return Reply(200, await self._answer(method, path, body))
        except ServingError as error:
            return Reply(HTTP_CODES[error.code], error_reply(error.message))

    async def _answer(self, method, path, body):
        try:
            target = parse_path(method, path)
        except ServingError:
            with self._metrics.request("", False, "REST"):
                raise
        is_served = target.name in self._models.names
        api = target.verb.capitalize() if method == "POST" else None
        with self._metrics.request(target.name, is_served, "REST", api):
            return await getattr(self, f"_{target.verb}")(target, body)

    def _use(self, target):
        return self._models.use(target.name, target.version, target.label)

    async def _predict(self, target, body):
        is_long = len(body) > LONG_REQUEST_BYTES
        request = await self._runner.beside(is_long, parse_json, body)
        with self._use(target) as version:

            def find(name):
                return rest_signature(version.model, name)

            inputs = await self._runner.beside(
                is_long, predict_inputs, request, find
            )
            call = predict_call(find(inputs.signature_name), inputs.tensors)
            outputs = await self._runner.run(
                version, call, self._timeout_seconds
            )
        is_long = num_elements(outputs) > LONG_REPLY_ELEMENTS
        return await self._runner.beside(
            is_long, predict_reply, outputs, inputs.is_row
        )

    async def _classify(self, target, body):
        rows = await self._examples(target, body, classify_call)
        return classify_reply(rows)

    async def _regress(self, target, body):
        values = await self._examples(target, body, regress_call)
        return regress_reply(values)

    async def _examples(self, target, body, make_call):
        is_long = len(body) > LONG_REQUEST_BYTES
        request = await self._runner.beside(is_long, parse_json, body)
        name = signature_name(request)
        examples = await self._runner.beside(
            is_long, serialized_examples, request
        )
        with self._use(target) as version:
            call = make_call(version.model, name, examples)
            return await self._runner.run(version, call, self._timeout_seconds)

    async def _metadata(self, target, body):
        if self.is_ending:
            raise ServingError("UNAVAILABLE", "The server is ending.")
        with self._use(target) as version:
            if version.metadata is None:
                version.metadata = json.dumps(
                    metadata_message(version)
                ).encode()
            return version.metadata

    async def _status(self, target, body):
        versions = self._models.versions(target.name, target.version)
        return json.dumps(status_message(versions)).encode()
