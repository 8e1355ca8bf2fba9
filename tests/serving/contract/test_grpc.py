"""The gRPC contract, against the local server or the one at `TFS_GRPC`.

The messages and stubs are TensorFlow Serving's own.
"""

import dataclasses

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2
from grpc_health.v1 import health_pb2_grpc
from tensorflow_serving.apis import classification_pb2
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import get_model_status_pb2
from tensorflow_serving.apis import inference_pb2
from tensorflow_serving.apis import model_service_pb2_grpc
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis import regression_pb2

Code = grpc.StatusCode


@dataclasses.dataclass(frozen=True)
class PredictCase:
    rule: str
    signature: str = ""
    inputs: dict = dataclasses.field(default_factory=dict)
    outputs: dict = dataclasses.field(default_factory=dict)
    version: int | None = 1
    label: str = ""
    model: str = "half"
    filter: tuple = ()
    code: object = None
    error: tuple = ()

    def __str__(self):
        return self.rule


def array(values, dtype):
    return np.array(values, dtype)


PAIR = {"numbers": array([[1, 2], [3, 4]], "int32"), "negate": [False, True]}
X = {"x": array([1.0, 2.0], "float32")}
Y = {"y": array([2.5, 3.0], "float32")}
ECHO = {
    "text": array([b"\xff\x00"], object),
    "long": array([2**53 + 1], "int64"),
    "byte": array([255], "uint8"),
    "double": array([0.1], "float64"),
}

CASES = [
    PredictCase("no signature is the default one", inputs=X, outputs=Y),
    PredictCase(
        "tensors of several types go both ways, bytes unchanged",
        "echo",
        ECHO,
        {**ECHO, "text_bytes": ECHO["text"]},
    ),
    PredictCase(
        "half precision goes both ways",
        "takes_half",
        {"x": array([0.5], "float16")},
        {"y": array([0.5], "float32")},
    ),
    PredictCase(
        "half precision comes back",
        "gives_half",
        {"x": array([0.5], "float32")},
        {"small": array([0.5], "float16")},
    ),
    PredictCase(
        "all outputs, where none is asked for",
        "pairwise",
        PAIR,
        {"total": array([3, -7], "int32"), "negated": [False, True]},
    ),
    PredictCase(
        "the outputs that are asked for",
        "pairwise",
        PAIR,
        {"total": array([3, -7], "int32")},
        filter=("total",),
    ),
    PredictCase(
        "no output of another name",
        "pairwise",
        PAIR,
        filter=("none",),
        code=Code.INVALID_ARGUMENT,
        error=("output tensor alias not found in signature: none",),
    ),
    PredictCase(
        "no output twice",
        "pairwise",
        PAIR,
        filter=("total", "total"),
        code=Code.INVALID_ARGUMENT,
        error=("duplicate output tensor alias: total",),
    ),
    PredictCase(
        "the latest version, where none is asked for",
        inputs=X,
        outputs={"y": array([3.5, 4.0], "float32")},
        version=None,
    ),
    PredictCase(
        "a label stands for its version",
        inputs=X,
        outputs=Y,
        version=None,
        label="stable",
    ),
    PredictCase(
        "an empty batch",
        inputs={"x": array([], "float32")},
        outputs={"y": array([], "float32")},
    ),
    PredictCase(
        "an input with a default may be left out",
        "optional",
        {"x": array([1.0], "float32")},
        {"y": array([11.0], "float32")},
    ),
    PredictCase(
        "an input with a default may be sent",
        "optional",
        {"x": array([1.0], "float32"), "plus": array([2.0], "float32")},
        {"y": array([3.0], "float32")},
    ),
    PredictCase(
        "an unknown signature",
        "none",
        X,
        code=Code.FAILED_PRECONDITION,
        error=('Serving signature key "none" not found',),
    ),
    PredictCase(
        "an unknown model",
        inputs=X,
        model="none",
        version=None,
        code=Code.NOT_FOUND,
        error=("Latest(none)",),
    ),
    PredictCase(
        "an unknown version",
        inputs=X,
        version=9,
        code=Code.NOT_FOUND,
        error=("Specific(half, 9)",),
    ),
    PredictCase(
        "an unknown label",
        inputs=X,
        version=None,
        label="none",
        code=Code.INVALID_ARGUMENT,
        error=("Unrecognized servable version label: none",),
    ),
    PredictCase(
        "no name of a model", inputs=X, model="", code=Code.INVALID_ARGUMENT
    ),
    PredictCase(
        "an input is missing",
        "pairwise",
        {"negate": [True]},
        code=Code.INVALID_ARGUMENT,
        error=("input size does not match signature", "numbers"),
    ),
    PredictCase(
        "an input is too much",
        inputs={**X, "z": array([1.0], "float32")},
        code=Code.INVALID_ARGUMENT,
        error=("input size does not match signature", "z"),
    ),
    PredictCase(
        "the wrong type",
        inputs={"x": array([1, 2], "int32")},
        code=Code.INVALID_ARGUMENT,
        error=("float", "int32"),
    ),
    PredictCase(
        "an operation's refusal",
        "fails",
        {"text": array([b"no number"], object)},
        code=Code.INVALID_ARGUMENT,
        error=("no number",),
    ),
]


@pytest.fixture(scope="module")
def channel(grpc_address):
    with grpc.insecure_channel(grpc_address) as channel:
        yield channel


@pytest.fixture(scope="module")
def prediction(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def models(channel):
    return model_service_pb2_grpc.ModelServiceStub(channel)


def predict_request(case):
    request = predict_pb2.PredictRequest(output_filter=case.filter)
    request.model_spec.name = case.model
    request.model_spec.signature_name = case.signature
    if case.version is not None:
        request.model_spec.version.value = case.version
    if case.label:
        request.model_spec.version_label = case.label
    for name, values in case.inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    return request


def refusal(method, request):
    with pytest.raises(grpc.RpcError) as caught:
        method(request, timeout=30)
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=str)
def test_predict(prediction, case):
    request = predict_request(case)
    if case.code is not None:
        error = refusal(prediction.Predict, request)
        assert error.code() == case.code
        assert all(part in error.details() for part in case.error)
        return
    reply = prediction.Predict(request, timeout=30)

    assert reply.outputs.keys() == case.outputs.keys()
    for name, values in case.outputs.items():
        found = tf.make_ndarray(reply.outputs[name])
        wanted = np.array(values)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert reply.model_spec.name == "half"
    assert reply.model_spec.version.value == (
        case.version or {"": 2, "stable": 1}[case.label]
    )
    signature = case.signature or "serving_default"
    assert reply.model_spec.signature_name == signature


def test_tensor_content_is_read(prediction):
    request = predict_request(PredictCase(""))
    tensor = request.inputs["x"]
    tensor.dtype = tf.float32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=2)
    tensor.tensor_content = array([1.0, 2.0], "<f4").tobytes()

    reply = prediction.Predict(request, timeout=30)

    assert tf.make_ndarray(reply.outputs["y"]).tolist() == [2.5, 3.0]


def test_values_left_out_repeat_the_last(prediction):
    request = predict_request(PredictCase(""))
    tensor = request.inputs["x"]
    tensor.dtype = tf.float32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=3)
    tensor.float_val.append(1.0)

    reply = prediction.Predict(request, timeout=30)

    assert tf.make_ndarray(reply.outputs["y"]).tolist() == [2.5, 2.5, 2.5]


def test_a_tensor_that_contradicts_itself(prediction):
    request = predict_request(PredictCase(""))
    tensor = request.inputs["x"]
    tensor.dtype = tf.float32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=3)
    tensor.tensor_content = b"\x00" * 5

    error = refusal(prediction.Predict, request)

    assert error.code() == Code.INVALID_ARGUMENT


def test_a_deadline_ends_the_wait(prediction):
    case = PredictCase("", "slow", {"rounds": array([60_000], "int32")})

    with pytest.raises(grpc.RpcError) as caught:
        prediction.Predict(predict_request(case), timeout=0.05)

    assert caught.value.code() == Code.DEADLINE_EXCEEDED


def add_examples(request, signature, *features):
    request.model_spec.name = "half"
    request.model_spec.signature_name = signature
    for feature in features:
        example = request.input.example_list.examples.add()
        for name, value in feature.items():
            if isinstance(value, bytes):
                target = example.features.feature[name].bytes_list
            else:
                target = example.features.feature[name].float_list
            target.value.append(value)
    return request


def test_classify(prediction):
    request = add_examples(
        classification_pb2.ClassificationRequest(),
        "classify",
        {"text": b"ab"},
        {"text": b"c"},
    )

    reply = prediction.Classify(request, timeout=30)

    found = [
        [(c.label, c.score) for c in row.classes]
        for row in reply.result.classifications
    ]
    assert found == [[("ab", 2.0), ("AB", 1.0)], [("c", 1.0), ("C", 0.5)]]
    assert reply.model_spec.signature_name == "classify"


def test_regress_with_context(prediction):
    request = regression_pb2.RegressionRequest()
    request.model_spec.name = "half"
    request.model_spec.signature_name = "regress"
    shared = request.input.example_list_with_context
    shared.context.features.feature["number"].float_list.value.append(0.5)
    for count in (1, 2):
        example = shared.examples.add()
        example.features.feature["count"].int64_list.value.append(count)

    reply = prediction.Regress(request, timeout=30)

    assert [r.value for r in reply.result.regressions] == [1.5, 2.5]


def test_no_examples(prediction):
    request = add_examples(
        classification_pb2.ClassificationRequest(), "classify"
    )
    request.input.example_list.SetInParent()

    error = refusal(prediction.Classify, request)

    assert error.code() == Code.INVALID_ARGUMENT
    assert "Input is empty" in error.details()


def test_a_signature_without_examples_cannot_classify(prediction):
    request = add_examples(
        classification_pb2.ClassificationRequest(), "", {"text": b"a"}
    )

    error = refusal(prediction.Classify, request)

    assert error.code() in (Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION)


def test_multi_inference(prediction):
    request = inference_pb2.MultiInferenceRequest()
    for signature in ("classify", "regress"):
        task = request.tasks.add(method_name=f"tensorflow/serving/{signature}")
        task.model_spec.name = "half"
        task.model_spec.signature_name = signature
    example = request.input.example_list.examples.add()
    example.features.feature["text"].bytes_list.value.append(b"ab")
    example.features.feature["number"].float_list.value.append(0.25)

    first, second = prediction.MultiInference(request, timeout=30).results

    (row,) = first.classification_result.classifications
    assert [c.label for c in row.classes] == ["ab", "AB"]
    (regression,) = second.regression_result.regressions
    assert regression.value == 0.25


def test_metadata(prediction):
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        metadata_field=["signature_def"]
    )
    request.model_spec.name = "half"
    request.model_spec.version.value = 1

    reply = prediction.GetModelMetadata(request, timeout=30)

    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert reply.metadata["signature_def"].Unpack(signatures)
    info = signatures.signature_def["serving_default"].inputs["x"]
    assert info.dtype == tf.float32.as_datatype_enum
    assert [dim.size for dim in info.tensor_shape.dim] == [-1]
    assert reply.model_spec.version.value == 1


@pytest.mark.parametrize("fields", [[], ["graph"]])
def test_metadata_is_of_signatures_alone(prediction, fields):
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        metadata_field=fields
    )
    request.model_spec.name = "half"

    error = refusal(prediction.GetModelMetadata, request)

    assert error.code() == Code.INVALID_ARGUMENT


def test_status(models):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "half"

    reply = models.GetModelStatus(request, timeout=30)

    found = {(v.version, v.state) for v in reply.model_version_status}
    available = get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert found == {(1, available), (2, available)}
    assert all(v.status.error_code == 0 for v in reply.model_version_status)


def test_status_of_an_unknown_model(models):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "none"

    assert refusal(models.GetModelStatus, request).code() == Code.NOT_FOUND


@pytest.mark.parametrize("service", ["", "PredictionService", "ModelService"])
def test_health(channel, service):
    stub = health_pb2_grpc.HealthStub(channel)

    reply = stub.Check(
        health_pb2.HealthCheckRequest(service=service), timeout=30
    )

    assert reply.status == health_pb2.HealthCheckResponse.SERVING
