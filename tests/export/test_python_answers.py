"""The judge of an export, judged by Keras's own calls."""

import keras
import numpy as np
import pytest
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from keras_albert.export import python_answers
from keras_albert.export.opening import served_task
from keras_albert.export.python_answers import PythonAnswers
from keras_albert.export.python_answers import exact_model
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import PIECES
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer

PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))


def answers(model, texts, pairs):
    task = served_task(model, model.preprocessor)
    return PythonAnswers(task, model, model.preprocessor).answers(texts, pairs)


@pytest.mark.every_backend
def test_a_classifier_answers_as_predict(monkeypatch):
    model = tiny_classifier("word_piece", labels=["bad", "good"])
    # Rows on both sides of the length at which they are told apart.
    monkeypatch.setattr(python_answers, "SHORT_LENGTH", 7)
    expected = softmax(model.predict(TEXTS, verbose=0))
    both = softmax(model.predict((TEXTS, TEXTS[::-1]), verbose=0))

    found = answers(model, TEXTS, PAIRS)

    for name in ("serving_default", "tokens"):
        outputs = found[name].outputs
        np.testing.assert_allclose(
            outputs["probabilities"], expected, atol=1e-5
        )
        labels = [[b"bad", b"good"][i] for i in expected.argmax(1)]
        assert outputs["label"].tolist() == labels
    np.testing.assert_allclose(
        found["pair"].outputs["probabilities"], both, atol=1e-5
    )
    np.testing.assert_array_equal(
        found["classify"].outputs["scores"],
        found["serving_default"].outputs["probabilities"],
    )
    assert found["embed"].inputs["text"].tolist() == [
        text.encode() for text in TEXTS
    ]


def test_tensorflow_does_not_warn_about_tracing(caplog, monkeypatch):
    """It does after five traces of `predict`, whatever the model."""
    monkeypatch.setattr(
        polymorphic_function, "FREQUENT_TRACING_WARNING_THRESHOLD", 2
    )
    model = tiny_classifier("word_piece", labels=["bad", "good"])

    answers(model, ["the film " * 40, *TEXTS * 2], PAIRS)

    assert "retracing" not in caplog.text


def test_every_promised_signature_is_judged():
    for model in (
        tiny_classifier("word_piece", num_classes=2),
        tiny_classifier("word_piece", num_classes=1),
        tiny_pretrainer("word_piece"),
    ):
        task = served_task(model, model.preprocessor)
        found = answers(model, TEXTS, PAIRS)

        assert set(found) == set(task.signatures())
        for name, shapes in task.signatures().items():
            assert set(found[name].inputs) == set(shapes["inputs"])
            assert set(found[name].outputs) == set(shapes["outputs"])
            for output, (_, shape) in shapes["outputs"].items():
                values = found[name].outputs[output]
                assert values.shape == (len(found[name]), *shape[1:])


def test_masks_are_looked_up_in_the_text():
    model = tiny_pretrainer("word_piece")

    found = answers(model, ["the [MASK] was", "good"], PAIRS)["fill_mask"]

    texts = found.inputs["text"].tolist()
    numbers = found.outputs["num_masks"]
    assert numbers[0] == 1
    assert numbers[texts.index(b"[MASK]the [MASK] was[MASK]")] == 3
    assert numbers[texts.index(b"good")] == 0
    assert numbers.max() == 8
    assert found.outputs["tokens"][0, 1:].tolist() == [[b""] * 5] * 7
    assert set(found.outputs["tokens"][0, 0]) <= {p.encode() for p in PIECES}


def test_close_candidates_are_not_certain():
    falling = np.array([[0.5, 0.3, 0.29999, 0.1], [0.4, 0.3, 0.2, 0.1]])

    certain = python_answers._apart(falling)

    assert certain.tolist() == [[True, False, False, True], [True] * 4]


def test_rows_are_picked_from_all_parts():
    found = answers(tiny_classifier("word_piece", num_classes=2), TEXTS, PAIRS)[
        "serving_default"
    ]

    inputs, outputs, certain = found.rows([2, 0])

    assert inputs["text"].tolist() == [TEXTS[2].encode(), TEXTS[0].encode()]
    assert len(outputs["label"]) == len(certain["label"]) == 2


def test_half_precision_is_judged_by_float32():
    model = tiny_classifier("word_piece", num_classes=2, dtype="mixed_bfloat16")
    model.backbone.encoder.active_layers = 1

    exact = exact_model(model)

    assert exact.backbone.compute_dtype == "float32"
    assert exact.backbone.encoder.active_layers == 1
    for a, b in zip(exact.weights, model.weights, strict=True):
        np.testing.assert_array_equal(
            keras.ops.convert_to_numpy(a), keras.ops.convert_to_numpy(b)
        )
    assert exact_model(exact) is exact
    assert exact_model(model.backbone).compute_dtype == "float32"
