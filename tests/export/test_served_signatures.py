"""The signatures' functions, as they are before they are written to a file."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.opening import served_task
from keras_albert.export.served_signatures import ServedModel
from keras_albert.models.text_classifier import AlbertTextClassifier
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import PIECES
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer


def served(model, *names, preprocessor=None):
    """The functions of some signatures."""
    preprocessor = preprocessor or model.preprocessor
    task = served_task(model, preprocessor)
    made = ServedModel(task, model, preprocessor)
    return {name: made.signature(name) for name in names}


def python(model, texts):
    """The Keras model's own answers, as NumPy."""
    return keras.ops.convert_to_numpy(model(model.preprocessor(texts, None)))


@pytest.fixture(scope="module")
def pretrainer():
    model = tiny_pretrainer("word_piece")
    return model, served(model, "fill_mask", "embed", "sentence_order")


def ask(function, *values):
    return {
        k: v.numpy() for k, v in function(*map(tf.constant, values)).items()
    }


def test_likeliest_tokens_at_each_mask(pretrainer):
    model, signatures = pretrainer
    texts = ["the [MASK] was [MASK]", "no mask", "[MASK] very dull"]

    found = ask(signatures["fill_mask"], texts)

    # [CLS] is at 0. The mask's id is put in by hand.
    mask_id = PIECES.index("[MASK]")
    ids = {
        0: [2, PIECES.index("the"), mask_id, PIECES.index("was"), mask_id, 3],
        2: [2, mask_id, *map(PIECES.index, ("very", "du", "##ll")), 3],
    }
    for row, positions in ((0, [2, 4]), (2, [1])):
        token_ids = np.array([ids[row]], "int32")
        outputs = model(
            {
                "token_ids": token_ids,
                "segment_ids": token_ids * 0,
                "padding_mask": token_ids * 0 + 1,
                "mask_positions": np.array([positions], "int32"),
            }
        )
        wanted = softmax(keras.ops.convert_to_numpy(outputs["masked_lm"])[0])
        best = np.argsort(-wanted, 1)[:, :5]
        count = len(positions)
        np.testing.assert_allclose(
            found["scores"][row, :count],
            np.take_along_axis(wanted, best, 1),
            atol=1e-5,
        )
        assert found["tokens"][row, :count].tolist() == [
            [PIECES[i].encode() for i in line] for line in best
        ]
    assert found["num_masks"].tolist() == [2, 0, 1]


def test_places_without_a_mask_are_empty(pretrainer):
    _, signatures = pretrainer

    found = ask(signatures["fill_mask"], ["no mask", "[MASK]"])

    assert found["tokens"].shape == found["scores"].shape == (2, 8, 5)
    empty = np.ones((2, 8), bool)
    empty[1, 0] = False
    assert set(found["tokens"][empty].reshape(-1)) == {b""}
    assert not found["scores"][empty].any()
    assert b"" not in found["tokens"][~empty]


def test_more_masks_than_are_answered(pretrainer):
    _, signatures = pretrainer

    found = ask(signatures["fill_mask"], ["[MASK]" * 12])

    assert found["num_masks"].tolist() == [8]
    assert (found["scores"] > 0).all()


def test_masks_are_ordinary_text_elsewhere(pretrainer):
    model, signatures = pretrainer

    found = ask(signatures["embed"], ["the [MASK] was"])

    expected = model.backbone(model.preprocessor(["the [MASK] was"]))
    np.testing.assert_allclose(
        found["pooled"],
        keras.ops.convert_to_numpy(expected["pooled_output"]),
        atol=1e-5,
    )


def test_order_of_two_texts(pretrainer):
    model, signatures = pretrainer
    inputs = model.preprocessor((TEXTS, TEXTS[::-1]), None)
    logits = model(
        {**inputs, "mask_positions": tf.zeros((len(TEXTS), 1), "int32")}
    )["sentence_order"]
    expected = softmax(keras.ops.convert_to_numpy(logits))

    found = ask(signatures["sentence_order"], TEXTS, TEXTS[::-1])

    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    names = [b"in order", b"swapped"]
    assert found["label"].tolist() == [names[i] for i in expected.argmax(1)]


def test_vectors_of_a_backbone():
    model = tiny_classifier("word_piece", num_classes=2)
    signatures = served(
        model.backbone, "serving_default", preprocessor=model.preprocessor
    )
    inputs = model.preprocessor(TEXTS)
    outputs = {
        name: keras.ops.convert_to_numpy(value)
        for name, value in model.backbone(inputs).items()
    }
    mask = np.array(inputs["padding_mask"], bool)
    means = [
        row[real].mean(0)
        for row, real in zip(outputs["sequence_output"], mask, strict=True)
    ]

    found = ask(signatures["serving_default"], TEXTS)

    np.testing.assert_allclose(
        found["pooled"], outputs["pooled_output"], atol=1e-5
    )
    np.testing.assert_allclose(found["mean_pooled"], means, atol=1e-5)


def test_examples_are_classified_by_their_text():
    from tensorflow.core.example import example_pb2

    model = tiny_classifier("word_piece", labels=["bad", "good"])
    signatures = served(model, "classify")
    examples = [example_pb2.Example() for _ in range(3)]
    for example, text in zip(examples, ("the film", "dull"), strict=False):
        value = example.features.feature["text"].bytes_list.value
        value.append(text.encode())
    examples[0].features.feature["other"].int64_list.value.append(3)

    found = ask(
        signatures["classify"], [e.SerializeToString() for e in examples]
    )

    # The third has no text, which counts as an empty one.
    expected = softmax(python(model, ["the film", "dull", ""]))
    np.testing.assert_allclose(found["scores"], expected, atol=1e-5)
    assert found["classes"].tolist() == [[b"bad", b"good"]] * 3
    assert set(found) == {"classes", "scores"}


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_one_value(activation):
    model = tiny_classifier("word_piece", num_classes=1, activation=activation)
    signatures = served(model, "pair")

    found = ask(signatures["pair"], TEXTS, TEXTS[::-1])

    expected = python(model, (TEXTS, TEXTS[::-1]))[:, 0]
    np.testing.assert_allclose(found["value"], expected, atol=1e-5)


def test_ready_token_ids_with_any_mask():
    model = tiny_classifier("word_piece", num_classes=2)
    inputs = dict(model.preprocessor(TEXTS))
    mask = np.array(inputs["padding_mask"])
    mask[0, 2] = 0  # a hole among the tokens
    inputs["padding_mask"] = tf.constant(mask)

    found = ask(
        served(model, "tokens")["tokens"],
        *(inputs[n] for n in ("token_ids", "segment_ids", "padding_mask")),
    )

    expected = softmax(keras.ops.convert_to_numpy(model(inputs)))
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)


def test_probabilities_of_a_softmax_model_stay():
    model = tiny_classifier("word_piece", num_classes=2)
    normalised = AlbertTextClassifier(
        model.backbone,
        num_classes=2,
        preprocessor=model.preprocessor,
        activation="softmax",
    )
    normalised.set_weights(model.get_weights())

    signatures = served(normalised, "serving_default")

    found = ask(signatures["serving_default"], TEXTS)

    np.testing.assert_allclose(
        found["probabilities"],
        softmax(python(model, TEXTS)),
        atol=1e-5,
    )
