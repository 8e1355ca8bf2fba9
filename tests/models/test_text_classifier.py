"""The classifier: raw strings and ids, pairs, labels, saving."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.models import AlbertTextClassifier
from keras_albert.models import load_model
from keras_albert.models.text_classifier import default_learning_rate
from tests.checks import max_difference
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone

pytestmark = pytest.mark.every_backend

KINDS = ["sentence_piece", "word_piece"]


@pytest.mark.parametrize("kind", KINDS)
def test_strings_predict_as_their_ids_do(kind):
    classifier = tiny_classifier(kind, num_classes=3)

    from_strings = classifier.predict(TEXTS, verbose=0)
    ids = classifier.preprocessor(TEXTS)
    classifier.preprocessor = None
    from_ids = classifier.predict(ids, verbose=0)

    assert from_strings.shape == (3, 3)
    np.testing.assert_allclose(from_strings, from_ids, atol=1e-6)
    assert np.abs(from_strings[0] - from_strings[1]).max() > 1e-3


def test_both_texts_of_a_pair_and_their_order_matter():
    classifier = tiny_classifier("sentence_piece", num_classes=2)
    first, second = ["the film"], ["was good indeed"]

    outputs = [
        classifier.predict(pair, verbose=0)
        for pair in [(first, second), (second, first), (first, ["very bad"])]
    ]

    assert np.abs(outputs[0] - outputs[1]).max() > 1e-3
    assert np.abs(outputs[0] - outputs[2]).max() > 1e-3


def test_fit_on_raw_strings_learns_a_word():
    classifier = tiny_classifier("sentence_piece", labels=["bad", "good"])
    texts = [f"the film was {w}" for w in ("bad", "good") for _ in range(8)]
    labels = np.array([0] * 8 + [1] * 8)

    classifier.compile(optimizer="adam")
    classifier.optimizer.learning_rate = 0.003
    keras.utils.set_random_seed(1)
    classifier.fit(texts, labels, batch_size=8, epochs=40, verbose=0)

    logs = classifier.evaluate(texts, labels, verbose=0, return_dict=True)
    assert logs["accuracy"] == 1.0


@pytest.mark.parametrize("as_pair", [False, True])
def test_fit_shuffles_strings_in_every_epoch(as_pair):
    classifier = tiny_classifier("sentence_piece", num_classes=2)
    seen = []
    preprocess = classifier.preprocess_samples

    def note(x, y=None, sample_weight=None):
        import tensorflow as tf

        if not isinstance(y, np.ndarray) and tf.is_tensor(y):
            tf.py_function(lambda v: seen.append(v.numpy().tolist()), [y], [])
        return preprocess(x, y, sample_weight)

    classifier.preprocess_samples = note
    texts = ["the film"] * 32
    labels = np.arange(32) // 16
    x = (texts, texts) if as_pair else texts

    keras.utils.set_random_seed(1)
    classifier.fit(x, labels, batch_size=32, epochs=2, verbose=0)

    orders = [order for order in seen if len(order) == 32][-2:]
    assert orders[0] != orders[1]
    for order in orders:
        assert order != labels.tolist()
        assert sorted(order) == labels.tolist()


def test_no_texts_have_no_answers():
    classifier = tiny_classifier("sentence_piece", num_classes=3)

    for nothing in ([], np.array([]), ([], [])):
        assert classifier.predict(nothing, verbose=0).shape == (0, 3)
    for use in (classifier.fit, classifier.evaluate):
        with pytest.raises(ValueError, match="There are no examples"):
            use([], [], verbose=0)


def test_lone_surrogates_are_taken_as_the_preprocessor_takes_them():
    classifier = tiny_classifier("sentence_piece", num_classes=3)
    texts = ["the film\ud800", "was\udfff good"]
    ids = classifier.preprocessor(texts)

    answers = classifier.predict(texts, verbose=0)
    classifier.fit(texts, [0, 1], verbose=0)

    expected = tiny_classifier("sentence_piece", num_classes=3)(ids)
    assert max_difference(answers, expected) < 1e-6


def test_labels_may_be_names():
    losses = []
    for labels in ([1, 0, 1], ["good", "bad", "good"]):
        classifier = tiny_classifier(
            "sentence_piece", labels=["bad", "good"], dropout=0.0
        )
        losses.append(classifier.evaluate(TEXTS, labels, verbose=0))
        keras.utils.set_random_seed(1)
        classifier.compile(keras.optimizers.SGD(1.0))
        history = classifier.fit(
            TEXTS, labels, validation_data=(TEXTS, labels), verbose=0
        )
        losses.append(history.history)

    assert losses[:2] == losses[2:]
    with pytest.raises(ValueError, match=r"Received others: \['fine'\]"):
        classifier.fit(TEXTS, ["good", "bad", "fine"])
    dataset = keras.tree.map_structure(np.array, (TEXTS, ["good"] * 3))
    with pytest.raises(ValueError, match="numbers as labels"):
        classifier.fit(tf.data.Dataset.from_tensors(dataset))


def test_without_preprocessor_it_takes_ids():
    classifier = AlbertTextClassifier(tiny_backbone(), num_classes=5)

    outputs = classifier.predict(backbone_inputs(), verbose=0)

    assert outputs.shape == (4, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["model.keras", "preset"])
def test_saved_model_answers_the_same(kind, name, tmp_path):
    labels = ["bad", "so-so", "好"]
    classifier = tiny_classifier(kind, labels=labels, dropout=0.3)

    if name == "preset":
        classifier.save_to_preset(str(tmp_path / name))
    else:
        classifier.save(tmp_path / name)
    reloaded = load_model(tmp_path / name)

    assert isinstance(reloaded, AlbertTextClassifier)
    assert reloaded.labels == labels
    assert reloaded.dropout == 0.3
    assert (
        max_difference(
            classifier.predict(TEXTS, verbose=0),
            reloaded.predict(TEXTS, verbose=0),
        )
        == 0
    )


def test_a_preset_starts_a_task_with_other_classes(tmp_path):
    classifier = tiny_classifier("word_piece", num_classes=2)
    classifier.save_to_preset(str(tmp_path / "preset"))

    other = AlbertTextClassifier.from_preset(
        str(tmp_path / "preset"), num_classes=4
    )

    assert other.predict(TEXTS, verbose=0).shape == (3, 4)
    ids = classifier.preprocessor(TEXTS)
    assert max_difference(classifier.backbone(ids), other.backbone(ids)) == 0


def test_dropout_stands_between_pooled_output_and_logits():
    classifier = AlbertTextClassifier(
        tiny_backbone(), num_classes=2, dropout=0.5
    )
    inputs = backbone_inputs()

    outputs = [classifier(inputs, training=t) for t in (False, False, True)]

    assert max_difference(outputs[0], outputs[1]) == 0
    assert max_difference(outputs[0], outputs[2]) > 1e-4


def test_default_rate_falls_with_width():
    widths = [312, 384, 768, 1024, 2048, 4096]

    rates = [default_learning_rate(width) for width in widths]

    assert rates == [2e-4, 5e-5, 2e-5, 1e-5, 5e-6, 5e-6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Received neither"),
        (
            {"num_classes": 3, "labels": ["a", "b"]},
            "3 and 2 labels",
        ),
    ],
)
def test_classes_and_labels_must_agree(arguments, message):
    with pytest.raises(ValueError, match=message):
        AlbertTextClassifier(tiny_backbone(), **arguments)


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_a_regressor_learns_by_squared_errors(activation):
    model = tiny_classifier(
        "sentence_piece", num_classes=1, activation=activation, dropout=0.0
    )
    targets = np.array([0.1, 0.9, 0.4], "float32")
    errors = model.predict(TEXTS, verbose=0)[:, 0] - targets

    model.compile(keras.optimizers.SGD(0.0))
    logs = model.fit(TEXTS, targets, verbose=0).history

    assert logs["loss"][0] == pytest.approx(np.mean(errors**2), rel=1e-5)
    assert logs["mean_absolute_error"][0] == pytest.approx(
        np.mean(np.abs(errors)), rel=1e-5
    )


@pytest.mark.parametrize("activation", [None, "softmax"])
def test_a_new_classifier_has_the_loss_of_its_activation(activation):
    model = tiny_classifier(
        "sentence_piece", num_classes=3, activation=activation, dropout=0.0
    )
    answers = model.predict(TEXTS, verbose=0).astype("float64")
    if activation is None:
        answers = np.exp(answers)
        answers /= answers.sum(axis=1, keepdims=True)

    logs = model.evaluate(TEXTS, [0, 1, 2], return_dict=True, verbose=0)

    expected = -np.log(answers[range(3), range(3)]).mean()
    assert logs["loss"] == pytest.approx(expected, rel=1e-4)
