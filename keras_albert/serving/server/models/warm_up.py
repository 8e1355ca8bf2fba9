"""Replays the warm-up records of a version before it answers anyone."""

from pathlib import Path

import tensorflow as tf

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server.extra import import_serving_api
from keras_albert.serving.server.message_requests import examples_request_call
from keras_albert.serving.server.message_requests import multi_inference_calls
from keras_albert.serving.server.message_requests import predict_request_call

FILE = Path("assets.extra", "tf_serving_warmup_requests")
MAX_RECORDS = 1000


def warm_up(model):
    """Sends a model the requests that were stored with it.

    As in TensorFlow Serving, a record that fails makes the version fail.

    Args:
        model: `LoadedModel`.

    Returns:
        The number of records; 0 if the version has none.

    Raises:
        ServingError: that names the record.
    """
    path = model.folder / FILE
    if not path.is_file():
        return 0
    messages = import_serving_api("apis.prediction_log_pb2")
    number = 0
    try:
        for data in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            number += 1
            if number > MAX_RECORDS:
                raise invalid(f"there are more than {MAX_RECORDS}")
            for call in _calls(model, _parse(messages, data)):
                call.finish(
                    model.run(call.signature, call.tensors, call.outputs)
                )
    except ServingError as error:
        raise ServingError(
            error.code, f"Warm-up record {number} of {path}: {error.message}"
        ) from error
    except tf.errors.DataLossError as error:
        raise ServingError(
            "DATA_LOSS", f"Warm-up record {number + 1} of {path}: {error}"
        ) from error
    return number


def _parse(messages, data):
    try:
        return messages.PredictionLog.FromString(data)
    except Exception as error:  # protobuf has an error class per version
        raise invalid(f"it is no PredictionLog: {error}") from error


def _calls(model, log):
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        return [predict_request_call(model, log.predict_log.request)]
    if kind == "classify_log":
        return [
            examples_request_call("classify", model, log.classify_log.request)
        ]
    if kind == "regress_log":
        return [
            examples_request_call("regress", model, log.regress_log.request)
        ]
    if kind == "multi_inference_log":
        return multi_inference_calls(model, log.multi_inference_log.request)
    raise ServingError(
        "UNIMPLEMENTED", f"records of the kind {kind} cannot be replayed"
    )
