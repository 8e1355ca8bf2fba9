import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo
from keras_albert.serving.protocol.signatures import check_example_signature
from keras_albert.serving.protocol.signatures import check_inputs
from keras_albert.serving.protocol.signatures import chosen_outputs
from keras_albert.serving.protocol.signatures import signature_from_message
from keras_albert.serving.protocol.statuses import ServingError

INFO = TensorInfo("t:0", "DT_FLOAT", (-1,))


def signature(inputs=("a", "b"), outputs=("y", "z")):
    return Signature(
        "s", dict.fromkeys(inputs, INFO), dict.fromkeys(outputs, INFO)
    )


def test_a_message_is_read():
    message = meta_graph_pb2.SignatureDef()
    message.inputs["text"].name = "in:0"
    message.inputs["text"].dtype = 7
    message.inputs["text"].tensor_shape.dim.add(size=-1)
    message.outputs["y"].dtype = 14  # bfloat16 has no place in JSON
    message.outputs["y"].tensor_shape.unknown_rank = True
    message.defaults["text"].CopyFrom(tf.make_tensor_proto(["a"]))

    found = signature_from_message("s", message)

    assert found.inputs == {"text": TensorInfo("in:0", "DT_STRING", (-1,))}
    assert found.outputs == {"y": TensorInfo("", "DT_14", None)}
    assert found.defaults["text"].tolist() == [b"a"]


def test_inputs_must_be_the_same():
    check_inputs(signature(), ["b", "a"])
    with pytest.raises(ServingError) as caught:
        check_inputs(signature(), ["b", "c"])

    assert caught.value.code == "INVALID_ARGUMENT"
    assert "Sent extra: {c}" in caught.value.message
    assert "Missing but required: {a}" in caught.value.message


def test_outputs_are_chosen():
    assert chosen_outputs(signature(), []) == ["y", "z"]
    assert chosen_outputs(signature(), ["z"]) == ["z"]
    for wrong, text in (["x"], "not found"), (["y", "y"], "duplicate"):
        with pytest.raises(ServingError, match=text):
            chosen_outputs(signature(), wrong)


@pytest.mark.parametrize(
    "inputs, outputs, method, ok",
    [
        (["inputs"], ["classes", "scores"], "classify", True),
        (["inputs"], ["scores"], "classify", True),
        (["inputs"], ["outputs"], "regress", True),
        (["inputs"], ["outputs"], "classify", False),
        (["inputs"], ["classes", "more"], "classify", False),
        (["text"], ["outputs"], "regress", False),
    ],
)
def test_which_signatures_take_examples(inputs, outputs, method, ok):
    found = signature(inputs, outputs)
    if ok:
        assert check_example_signature(found, method) == outputs
        return
    with pytest.raises(ServingError, match="FAILED_PRECONDITION"):
        check_example_signature(found, method)
