"""Which models can be exported, and where their preprocessor comes from."""

import keras
import pytest

from keras_albert.export.opening import open_model
from keras_albert.export.opening import served_task
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer
from tests.export.tiny_classifiers import tiny_tokenizer


@pytest.fixture(scope="module")
def classifier():
    return tiny_classifier("word_piece", labels=["bad", "good"])


def test_model_with_its_own_preprocessor(classifier):
    model, preprocessor = open_model(classifier)

    assert model is classifier
    assert preprocessor is classifier.preprocessor


def test_given_preprocessor_comes_first(classifier):
    other = AlbertTextClassifierPreprocessor(tiny_tokenizer("word_piece"), 7)

    assert open_model(classifier, other)[1] is other


def test_preset_of_a_backbone_with_a_tokenizer(classifier, tmp_path):
    classifier.backbone.save_to_preset(str(tmp_path))
    classifier.preprocessor.tokenizer.save_to_preset(str(tmp_path))

    model, preprocessor = open_model(tmp_path)

    assert type(model).__name__ == "AlbertBackbone"
    assert preprocessor.sequence_length == model.max_sequence_length
    pieces = classifier.preprocessor.tokenizer.get_vocabulary()
    assert preprocessor.tokenizer.get_vocabulary() == pieces


def test_preset_with_a_preprocessor(classifier, tmp_path):
    classifier.backbone.save_to_preset(str(tmp_path))
    classifier.preprocessor.save_to_preset(str(tmp_path))

    _, preprocessor = open_model(tmp_path)

    assert preprocessor.sequence_length == 19


def test_without_a_vocabulary(classifier, tmp_path):
    classifier.backbone.save_to_preset(str(tmp_path))

    for model in (classifier.backbone, tmp_path):
        with pytest.raises(ValueError, match="no preprocessor, so it takes to"):
            open_model(model)


def test_vocabulary_that_is_too_large(classifier):
    pieces = [*classifier.preprocessor.tokenizer.get_vocabulary(), "more"]
    tokenizer = type(classifier.preprocessor.tokenizer)(pieces)
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, 19)

    with pytest.raises(ValueError, match="vocabulary_size is .*at most"):
        open_model(classifier, preprocessor)


def test_rows_that_are_too_long(classifier):
    preprocessor = AlbertTextClassifierPreprocessor(
        tiny_tokenizer("word_piece"), 24
    )

    with pytest.raises(ValueError, match="sequence_length is 24.*at most 23"):
        open_model(classifier, preprocessor)


@pytest.mark.parametrize("other", [3, None, keras.Sequential()], ids=str)
def test_models_of_another_kind(other):
    with pytest.raises(TypeError, match=f"Received: {type(other).__name__}"):
        open_model(other)


def test_missing_preset(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_model(tmp_path / "nowhere")


def test_tasks(classifier):
    preprocessor = classifier.preprocessor
    backbone = served_task(classifier.backbone, preprocessor)

    assert served_task(classifier, preprocessor).labels == ("bad", "good")
    assert backbone.kind == "backbone"
    assert (backbone.hidden_dim, backbone.sequence_length) == (8, 19)
    pretrainer = tiny_pretrainer("word_piece")
    assert served_task(pretrainer, preprocessor).kind == "pretrainer"


@pytest.mark.parametrize(
    "num_classes, activation, kind, labels",
    [
        (2, None, "classifier", ("0", "1")),
        (2, "softmax", "classifier", ("0", "1")),
        (1, None, "regressor", ()),
        (1, "sigmoid", "regressor", ()),
    ],
)
def test_kinds_of_classifiers(num_classes, activation, kind, labels):
    model = tiny_classifier(
        "word_piece", num_classes=num_classes, activation=activation
    )

    task = served_task(model, model.preprocessor)

    assert (task.kind, task.labels) == (kind, labels)


def test_activations_that_are_no_probabilities():
    model = tiny_classifier("word_piece", num_classes=2, activation="sigmoid")

    with pytest.raises(ValueError, match="activation='sigmoid'"):
        served_task(model, model.preprocessor)


@pytest.mark.filterwarnings("ignore:.*`quantize` method:UserWarning")
def test_quantized_models_are_refused(tmp_path):
    """Their numbers would be taken for the weights themselves."""
    model = tiny_classifier("word_piece", num_classes=2)
    model.backbone.quantize("int8")
    model.save_to_preset(str(tmp_path))

    for quantized in (model, model.backbone, tmp_path):
        with pytest.raises(ValueError, match="quantized to int8. Export the"):
            open_model(quantized, model.preprocessor)
