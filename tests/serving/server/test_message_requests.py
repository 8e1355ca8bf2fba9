import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2
from tensorflow_serving.apis import inference_pb2
from tensorflow_serving.apis import input_pb2
from tensorflow_serving.apis import predict_pb2

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.message_requests import examples_request_call
from keras_albert.serving.server.message_requests import input_examples
from keras_albert.serving.server.message_requests import multi_inference_calls
from keras_albert.serving.server.message_requests import predict_request_call
from tests.serving.server.test_calls import MODEL


def test_a_predict_request():
    request = predict_pb2.PredictRequest(output_filter=["y"])
    request.model_spec.signature_name = "p"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.5, 2.0]))

    call = predict_request_call(MODEL, request)

    assert call.signature is MODEL["p"]
    assert call.outputs == ["y"]
    np.testing.assert_array_equal(call.tensors["x"], [1.5, 2.0])
    request.inputs["x"].tensor_content = b"1"
    with pytest.raises(ServingError, match="INVALID_ARGUMENT.*takes 8 bytes"):
        predict_request_call(MODEL, request)


def test_examples_of_both_kinds():
    plain, shared, none = (input_pb2.Input() for _ in range(3))
    for examples in (plain.example_list, shared.example_list_with_context):
        example = examples.examples.add()
        example.features.feature["a"].int64_list.value.append(1)
    context = shared.example_list_with_context.context
    context.features.feature["b"].int64_list.value.append(2)

    def names(message):
        examples = map(tf.train.Example.FromString, input_examples(message))
        return [sorted(example.features.feature) for example in examples]

    assert names(plain) == [["a"]]
    assert names(shared) == [["a", "b"]]
    assert names(none) == []


def test_requests_with_examples():
    request = classification_pb2.ClassificationRequest()
    request.model_spec.signature_name = "c"
    request.input.example_list.examples.add()

    assert examples_request_call("classify", MODEL, request).api == "Classify"
    with pytest.raises(ServingError, match="cannot regress"):
        examples_request_call("regress", MODEL, request)


def test_several_questions_at_once():
    request = inference_pb2.MultiInferenceRequest()
    request.input.example_list.examples.add()
    for name, method in ("c", "classify"), ("r", "regress"):
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.signature_name = name

    calls = multi_inference_calls(MODEL, request)

    assert [call.api for call in calls] == ["Classify", "Regress"]
    request.tasks[0].method_name = "tensorflow/serving/predict"
    with pytest.raises(ServingError, match="UNIMPLEMENTED"):
        multi_inference_calls(MODEL, request)
