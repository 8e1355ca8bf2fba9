import numpy as np
import pytest

from keras_albert.serving.protocol.message_schema import messages
from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import TensorInfo
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.calls import classify_call
from keras_albert.serving.server.calls import grpc_signature
from keras_albert.serving.server.calls import predict_call
from keras_albert.serving.server.calls import regress_call
from keras_albert.serving.server.calls import rest_signature
from keras_albert.serving.server.calls import with_context

FLOAT = TensorInfo("x:0", "DT_FLOAT", (-1,))
TEXT = TensorInfo("t:0", "DT_STRING", (-1,))


class Signatures(dict):
    """A model that has nothing but signatures."""

    def signature(self, name):
        return self.get(name)


MODEL = Signatures(
    {
        "c": Signature(
            "c", {"inputs": TEXT}, {"classes": TEXT, "scores": FLOAT}
        ),
        "s": Signature("s", {"inputs": TEXT}, {"scores": FLOAT}),
        "r": Signature("r", {"inputs": TEXT}, {"outputs": FLOAT}),
        "p": Signature("p", {"x": FLOAT}, {"y": FLOAT, "z": FLOAT}),
    }
)


def test_rest_and_grpc_have_codes_of_their_own_for_unknown_signatures():
    assert rest_signature(MODEL, "p") is grpc_signature(MODEL, "p")
    with pytest.raises(ServingError, match='INVALID.*name: "none" not found'):
        rest_signature(MODEL, "none")
    with pytest.raises(ServingError, match='FAILED.*key "serving_default"'):
        grpc_signature(MODEL, "")


def test_predict():
    call = predict_call(MODEL["p"], {"x": np.zeros(1, "float32")}, ["z"])

    assert call.outputs == ["z"]
    assert call.finish({"z": 1}) == {"z": 1}
    with pytest.raises(ServingError, match="to be float but int32"):
        predict_call(MODEL["p"], {"x": np.zeros(1, "int32")})


def test_classify_pairs_labels_with_scores():
    call = classify_call(MODEL, "c", [b"1", b"2"])
    classes = np.array([[b"a", b"b"], [b"c", b"d"]], object)
    scores = np.array([[1, 2], [3, 4]], "float32")

    assert call.tensors["inputs"].tolist() == [b"1", b"2"]
    assert call.finish({"classes": classes, "scores": scores}) == [
        [(b"a", 1.0), (b"b", 2.0)],
        [(b"c", 3.0), (b"d", 4.0)],
    ]
    for wrong in (scores[:1], scores[:, :1], scores[0]):
        with pytest.raises(ServingError, match="Expected"):
            call.finish({"classes": classes, "scores": wrong})


def test_classify_with_scores_alone():
    call = classify_call(MODEL, "s", [b"1"])

    found = call.finish({"scores": np.array([[1, 2]], "float32")})
    assert found == [[(b"", 1.0), (b"", 2.0)]]


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_regress(shape):
    call = regress_call(MODEL, "r", [b"1", b"2"])

    found = call.finish({"outputs": np.arange(2.0).reshape(shape)})
    assert found.tolist() == [0.0, 1.0]
    with pytest.raises(ServingError, match=r"gave: \[3\]"):
        call.finish({"outputs": np.zeros(3)})


@pytest.mark.parametrize(
    "name, examples, text",
    [
        ("none", [b"1"], "No signature was found with the name: none"),
        ("p", [b"1"], "cannot classify"),
        ("c", [], "Input is empty"),
    ],
)
def test_what_cannot_be_classified(name, examples, text):
    with pytest.raises(ServingError, match=text):
        classify_call(MODEL, name, examples)


def test_examples_share_the_features_of_their_context():
    def example(**features):
        made = messages()["Example"]()
        for name, value in features.items():
            made.features.feature[name].int64_list.value.append(value)
        return made

    found = with_context([example(a=1), example(b=2)], example(a=3))

    parse = messages()["Example"].FromString
    assert list(map(parse, found)) == [example(a=1), example(a=3, b=2)]
    assert with_context([example(a=1)]) == [example(a=1).SerializeToString()]
