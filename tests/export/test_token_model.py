import numpy as np
import pytest

from keras_albert.export.opening import served_task
from keras_albert.export.token_model import TokenModel
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.text_classifier import AlbertTextClassifier
from tests.export.tiny_classifiers import with_random_weights
from tests.export.token_exports import ask_keras
from tests.export.token_exports import tiny_model

IDS = np.array([[2, 7, 9, 3, 0], [2, 8, 3, 0, 0]], "int32")
INPUTS = {
    "token_ids": IDS,
    "segment_ids": np.array([[0, 0, 1, 1, 0], [0] * 5], "int32"),
    "padding_mask": (IDS > 0).astype("int32"),
}


def test_pretrainer_answers_as_keras_does():
    model, preprocessor = tiny_model("pretrainer")
    inputs = {**INPUTS, "mask_positions": np.array([[2, 0], [1, 1]], "int32")}

    found = TokenModel(served_task(model, preprocessor), model)(**inputs)

    want = ask_keras(model, inputs)
    assert set(found) == set(want)
    for name, values in want.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)


def test_mean_is_over_tokens():
    model, preprocessor = tiny_model("backbone")

    found = TokenModel(served_task(model, preprocessor), model)(**INPUTS)

    hidden = ask_keras(model, INPUTS)["sequence_output"]
    want = [hidden[0, :4].mean(0), hidden[1, :3].mean(0)]
    np.testing.assert_allclose(found["mean_pooled"], want, atol=1e-5)


@pytest.mark.parametrize("activation", [None, "softmax"])
def test_classifier_gives_probabilities(activation):
    model, preprocessor = tiny_model("classifier")
    copy = AlbertTextClassifier(
        model.backbone, num_classes=3, activation=activation
    )
    copy.logits.set_weights(model.logits.get_weights())
    task = served_task(copy, preprocessor)

    found = TokenModel(task, copy)(**INPUTS)["probabilities"]

    logits = ask_keras(model, INPUTS).astype("float64")
    want = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(found, want, atol=1e-5)


def test_weights_are_held_once():
    model, preprocessor = tiny_model("pretrainer")

    found = TokenModel(served_task(model, preprocessor), model).weight_bytes()

    assert found == sum(w.numpy().nbytes for w in model.weights)


def test_exact_gelu_has_no_operation_of_tensorflow_alone():
    backbone = with_random_weights(
        AlbertBackbone(11, 1, 2, 5, 8, 11, activation="gelu_erf")
    )
    _, preprocessor = tiny_model("regressor")
    token_model = TokenModel(served_task(backbone, preprocessor), backbone)

    found = token_model(**INPUTS)["pooled"]

    want = ask_keras(backbone, INPUTS)["pooled_output"]
    np.testing.assert_allclose(found, want, atol=1e-5)
    graph = token_model.function().get_concrete_function().graph
    assert "Erfc" not in str(graph.as_graph_def(use_pybind11_proto=False))
