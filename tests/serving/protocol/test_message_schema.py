"""The judges are TensorFlow's and TensorFlow Serving's own messages."""

import pytest
from tensorflow.core.example import example_pb2
from tensorflow.core.example import feature_pb2
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.framework import tensor_shape_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import classification_pb2
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import get_model_status_pb2
from tensorflow_serving.apis import input_pb2
from tensorflow_serving.apis import model_pb2
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import regression_pb2
from tensorflow_serving.apis import status_pb2

from keras_albert.serving.protocol.message_schema import STATES
from keras_albert.serving.protocol.message_schema import TABLE
from keras_albert.serving.protocol.message_schema import message_classes
from keras_albert.serving.protocol.message_schema import messages

OFFICIAL = {
    "Dim": tensor_shape_pb2.TensorShapeProto.Dim,
    "TensorShape": tensor_shape_pb2.TensorShapeProto,
    "Tensor": tensor_pb2.TensorProto,
    "TensorInfo": meta_graph_pb2.TensorInfo,
    "SignatureDef": meta_graph_pb2.SignatureDef,
    "BytesList": feature_pb2.BytesList,
    "FloatList": feature_pb2.FloatList,
    "Int64List": feature_pb2.Int64List,
    "Feature": feature_pb2.Feature,
    "Features": feature_pb2.Features,
    "Example": example_pb2.Example,
    "ModelSpec": model_pb2.ModelSpec,
    "PredictRequest": predict_pb2.PredictRequest,
    "PredictResponse": predict_pb2.PredictResponse,
    "ExampleList": input_pb2.ExampleList,
    "ExampleListWithContext": input_pb2.ExampleListWithContext,
    "Input": input_pb2.Input,
    "ExamplesRequest": classification_pb2.ClassificationRequest,
    "Class": classification_pb2.Class,
    "Classifications": classification_pb2.Classifications,
    "ClassificationResult": classification_pb2.ClassificationResult,
    "ClassificationResponse": classification_pb2.ClassificationResponse,
    "Regression": regression_pb2.Regression,
    "RegressionResult": regression_pb2.RegressionResult,
    "RegressionResponse": regression_pb2.RegressionResponse,
    "MetadataRequest": get_model_metadata_pb2.GetModelMetadataRequest,
    "MetadataResponse": get_model_metadata_pb2.GetModelMetadataResponse,
    "SignatureDefMap": get_model_metadata_pb2.SignatureDefMap,
    "StatusRequest": get_model_status_pb2.GetModelStatusRequest,
    "Status": status_pb2.StatusProto,
    "VersionStatus": get_model_status_pb2.ModelVersionStatus,
    "StatusResponse": get_model_status_pb2.GetModelStatusResponse,
}
# No package has it; it is only read from text, where numbers do not count.
TEXT_ONLY = {"BatchingParameters"}


def test_every_message_has_a_judge():
    assert set(TABLE) == set(OFFICIAL) | TEXT_ONLY


@pytest.mark.parametrize("name", OFFICIAL)
def test_fields_have_the_official_numbers_and_types(name):
    official = OFFICIAL[name].DESCRIPTOR.fields_by_name

    for field in messages()[name].DESCRIPTOR.fields:
        judge = official[field.name]
        assert field.number == judge.number
        assert field.is_repeated == judge.is_repeated
        # Enumerations travel as int32.
        kind = judge.TYPE_INT32 if judge.type == judge.TYPE_ENUM else judge.type
        assert field.type == kind
        if field.message_type:
            mine = field.message_type.GetOptions().map_entry
            assert mine == judge.message_type.GetOptions().map_entry


def test_the_bytes_are_the_same():
    official = predict_pb2.PredictRequest()
    mine = messages()["PredictRequest"]()
    for request in (official, mine):
        request.model_spec.name = "m"
        request.model_spec.version.value = 3
        request.inputs["x"].dtype = 1
        request.inputs["x"].float_val.extend([1.0, 2.0])
        request.output_filter.append("y")

    assert mine.SerializeToString() == official.SerializeToString()


def test_one_choice_of_a_group():
    spec = messages()["ModelSpec"](version={"value": 1}, version_label="a")

    assert spec.WhichOneof("version_choice") == "version_label"


def test_states_are_official():
    official = get_model_status_pb2.ModelVersionStatus.State.items()

    assert {n: s for s, n in official if s != "UNKNOWN"} == STATES


def test_a_table_of_one_s_own():
    made = message_classes({"Pair": ["a 1 int64", "b 2 [string]"]})

    message = made["Pair"](a=1, b=["x", "y"])
    assert made["Pair"].FromString(message.SerializeToString()) == message
