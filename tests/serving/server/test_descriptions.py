from types import SimpleNamespace

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.descriptions import code_number
from keras_albert.serving.server.descriptions import metadata_message
from keras_albert.serving.server.descriptions import signature_map
from keras_albert.serving.server.descriptions import status_message
from keras_albert.serving.server.descriptions import status_response

VERSIONS = [
    SimpleNamespace(number=2**40, state="LOADING", error=None),
    SimpleNamespace(
        number=1, state="END", error=ServingError("NOT_FOUND", "gone")
    ),
]


@pytest.mark.parametrize("code", sorted(set(HTTP_CODES) - {"OK"}))
def test_codes_have_tensorflow_s_numbers(code):
    assert code_number(code) == getattr(tf.errors, code)


def test_status_as_json():
    first, second = status_message(VERSIONS)["model_version_status"]

    assert first == {
        "version": str(2**40),
        "state": "LOADING",
        "status": {"error_code": "OK", "error_message": ""},
    }
    assert second["status"] == {
        "error_code": "NOT_FOUND",
        "error_message": "gone",
    }


def test_status_as_a_message():
    first, second = status_response(VERSIONS).model_version_status

    assert (first.version, first.state) == (2**40, 20)
    assert first.HasField("status")
    assert (second.state, second.status.error_code) == (50, 5)
    assert second.status.error_message == "gone"


def test_metadata():
    message = meta_graph_pb2.SignatureDef(method_name="p")
    message.inputs["x"].tensor_shape.dim.add(size=-1)
    version = SimpleNamespace(
        number=3,
        model_name="m",
        model=SimpleNamespace(signature_messages={"s": message}),
    )

    found = metadata_message(version)

    assert found["model_spec"]["version"] == "3"
    (signature,) = found["metadata"]["signature_def"]["signature_def"].values()
    assert signature["inputs"]["x"]["tensor_shape"]["dim"] == [
        {"size": "-1", "name": ""}
    ]
    assert signature["inputs"]["x"]["dtype"] == "DT_INVALID"
    assert signature["outputs"] == {}
    assert signature_map(version).signature_def["s"] == message
