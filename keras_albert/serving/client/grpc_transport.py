"""The client's requests over gRPC; needs grpcio, but no TensorFlow."""

import grpc
import numpy as np

from keras_albert.serving.client.values import from_tensor
from keras_albert.serving.protocol.message_schema import STATES
from keras_albert.serving.protocol.message_schema import messages
from keras_albert.serving.protocol.signatures import signature_from_message
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.tensor_messages import fill_tensor
from keras_albert.serving.protocol.tensor_messages import read_tensor

PREDICTION = "/tensorflow.serving.PredictionService"
MODEL = "/tensorflow.serving.ModelService"
# Method -> service, class of the request, class of the reply.
METHODS = {
    "Predict": (PREDICTION, "PredictRequest", "PredictResponse"),
    "Classify": (PREDICTION, "ExamplesRequest", "ClassificationResponse"),
    "Regress": (PREDICTION, "ExamplesRequest", "RegressionResponse"),
    "GetModelMetadata": (PREDICTION, "MetadataRequest", "MetadataResponse"),
    "GetModelStatus": (MODEL, "StatusRequest", "StatusResponse"),
}
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # The client has its own retries; the channel must be back for them.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
)


class GrpcTransport:
    """Asks one model of a server over gRPC, once per call.

    Args:
        address: string, `"host:port"`.
        model: string.
        version: int or `None`.
        label: string or `None`.
        headers: dict to send with each request as metadata.
        secure: bool. Whether to use TLS.
    """

    def __init__(
        self,
        address,
        model,
        version=None,
        label=None,
        headers=None,
        secure=False,
    ):
        if secure:
            self._channel = grpc.secure_channel(
                address, grpc.ssl_channel_credentials(), CHANNEL_OPTIONS
            )
        else:
            self._channel = grpc.insecure_channel(address, CHANNEL_OPTIONS)
        self._metadata = tuple(
            (name.lower(), value) for name, value in (headers or {}).items()
        )
        self._spec = {"name": model}
        if version is not None:
            self._spec["version"] = {"value": version}
        elif label is not None:
            self._spec["version_label"] = label
        classes = messages()
        self._methods = {
            name: self._channel.unary_unary(
                f"{service}/{name}",
                request_serializer=classes[request].SerializeToString,
                response_deserializer=classes[reply].FromString,
            )
            for name, (service, request, reply) in METHODS.items()
        }

    def predict(self, signature, tensors, seconds):
        """Asks for predictions, as `RestTransport.predict` does."""
        request = self._request("Predict", signature.name)
        for name, array in tensors.items():
            fill_tensor(request.inputs[name], array)
        reply = self._ask("Predict", request, seconds)
        return {
            name: from_tensor(name, read_tensor(message))
            for name, message in sorted(reply.outputs.items())
        }

    def classify(self, signature_name, examples, seconds):
        """Asks for classes, as `RestTransport.classify` does."""
        request = self._examples_request("Classify", signature_name, examples)
        result = self._ask("Classify", request, seconds).result
        return [
            [(found.label, found.score) for found in row.classes]
            for row in result.classifications
        ]

    def regress(self, signature_name, examples, seconds):
        """Asks for numbers, as `RestTransport.regress` does."""
        request = self._examples_request("Regress", signature_name, examples)
        result = self._ask("Regress", request, seconds).result
        return [regression.value for regression in result.regressions]

    def signatures(self, seconds):
        """Asks what the model takes and gives."""
        request = self._request("GetModelMetadata")
        request.metadata_field.append("signature_def")
        reply = self._ask("GetModelMetadata", request, seconds)
        found = messages()["SignatureDefMap"].FromString(
            reply.metadata["signature_def"].value
        )
        return {
            name: signature_from_message(name, message)
            for name, message in found.signature_def.items()
        }

    def status(self, seconds):
        """Asks what became of the model's versions."""
        request = messages()["StatusRequest"]()
        request.model_spec.name = self._spec["name"]
        reply = self._ask("GetModelStatus", request, seconds)
        return [
            {
                "version": found.version,
                "state": STATES.get(found.state, "UNKNOWN"),
                "error": found.status.error_message,
            }
            for found in reply.model_version_status
        ]

    def _request(self, method, signature_name=""):
        classes = messages()
        spec = classes["ModelSpec"](**self._spec, signature_name=signature_name)
        return classes[METHODS[method][1]](model_spec=spec)

    def _examples_request(self, method, signature_name, examples):
        request = self._request(method, signature_name)
        request.input.example_list.SetInParent()
        for example in examples:
            _fill_example(request.input.example_list.examples.add(), example)
        return request

    def _ask(self, method, request, seconds):
        try:
            return self._methods[method](
                request, timeout=seconds, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise ServingError(error.code().name, error.details()) from error

    def close(self):
        """Closes the channel."""
        self._channel.close()


def _fill_example(message, example):
    for name, value in example.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        if isinstance(value, np.ndarray):
            values = value.reshape(-1).tolist()
        feature = message.features.feature[name]
        for element in values:
            kind, converted = _element(name, element)
            if feature.WhichOneof("kind") not in (None, kind):
                raise ValueError(
                    f"The values of the feature {name} must be of one type. "
                    f"Received: {values!r:.100}."
                )
            getattr(feature, kind).value.append(converted)


def _element(name, value):
    if isinstance(value, str):
        return "bytes_list", value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return "bytes_list", value
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return "int64_list", int(value)
    if isinstance(value, (float, np.floating)):
        return "float_list", float(value)
    raise ValueError(
        f"The feature {name} takes strings and numbers. Received: {value!r}."
    )
