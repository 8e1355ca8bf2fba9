"""Strings and pairs to model inputs, judged by keras-hub and by hand."""

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_tokenizer

pytestmark = pytest.mark.every_backend

NAMES = ["padding_mask", "segment_ids", "token_ids"]
FIRST = ["the film was good", "bad", "", "very very very very very dull"]
SECOND = ["indeed", "the film was very good indeed", "good", "bad film"]


@pytest.fixture(params=["sentence_piece", "word_piece"])
def tokenizer(request):
    return tiny_tokenizer(request.param)


@pytest.fixture
def preprocessor():
    return AlbertTextClassifierPreprocessor(
        tiny_tokenizer("word_piece"), sequence_length=7
    )


def arrays(outputs):
    return {n: keras.ops.convert_to_numpy(v) for n, v in outputs.items()}


def assert_equal(have, want):
    assert sorted(have) == sorted(want) == NAMES
    for name in NAMES:
        np.testing.assert_array_equal(have[name], want[name])
        assert have[name].dtype == np.int32


def test_single_text_written_out(preprocessor):
    outputs = arrays(preprocessor(["the film was dull"]))

    assert outputs["token_ids"].tolist() == [[2, 5, 6, 7, 10, 11, 3]]
    assert outputs["segment_ids"].tolist() == [[0] * 7]
    assert outputs["padding_mask"].tolist() == [[1] * 7]


def test_pair_written_out(preprocessor):
    outputs = arrays(preprocessor((["dull"], ["good"])))

    assert outputs["token_ids"].tolist() == [[2, 10, 11, 3, 8, 3, 0]]
    assert outputs["segment_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 0]]
    assert outputs["padding_mask"].tolist() == [[1] * 6 + [0]]


@pytest.mark.parametrize("truncate", ["round_robin", "waterfall"])
def test_equals_keras_hub(tokenizer, truncate):
    options = {"sequence_length": 9, "truncate": truncate}
    reference = keras_hub.models.TextClassifierPreprocessor(
        tokenizer, **options
    )
    expected = arrays(reference((FIRST, SECOND), None))

    outputs = AlbertTextClassifierPreprocessor(tokenizer, **options)(
        (FIRST, SECOND), None
    )

    assert_equal(arrays(outputs), expected)


@pytest.mark.parametrize("x", [FIRST, (FIRST, SECOND)], ids=["one", "pair"])
def test_dataset_equals_eager(tokenizer, x):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, 9)
    dataset = tf.data.Dataset.from_tensors((x, [0, 1, 0, 1]))

    outputs, labels = dataset.map(preprocessor).get_single_element()

    assert_equal(
        {n: v.numpy() for n, v in outputs.items()},
        arrays(preprocessor(x, None)),
    )
    assert labels.numpy().tolist() == [0, 1, 0, 1]


def test_dataset_without_batches(preprocessor):
    dataset = tf.data.Dataset.from_tensor_slices((FIRST, SECOND))

    rows = dataset.map(lambda a, b: preprocessor((a, b), None)).batch(4)

    assert_equal(
        {n: v.numpy() for n, v in rows.get_single_element().items()},
        arrays(preprocessor((FIRST, SECOND))),
    )


def test_two_texts_alone_are_a_pair(preprocessor):
    expected = arrays(preprocessor((FIRST, SECOND), None))

    for pair in [
        (FIRST, SECOND),
        (np.array(FIRST), np.array(SECOND, object)),
        (tf.constant(FIRST), tf.constant(SECOND)),
    ]:
        assert_equal(arrays(preprocessor(pair)), expected)


def test_a_text_and_labels_are_an_example(preprocessor):
    outputs, labels = preprocessor((FIRST, np.array([0, 1, 1, 0])))

    assert_equal(arrays(outputs), arrays(preprocessor(FIRST)))
    assert labels.tolist() == [0, 1, 1, 0]


def test_labels_and_weights_pass_through(preprocessor):
    outputs = preprocessor((FIRST, SECOND), [0, 1, 1, 0], [1.0, 2.0, 1.0, 1.0])

    assert outputs[1:] == ([0, 1, 1, 0], [1.0, 2.0, 1.0, 1.0])
    assert_equal(arrays(outputs[0]), arrays(preprocessor((FIRST, SECOND))))


def test_one_string_has_no_batch_axis(preprocessor):
    expected = {n: v[1] for n, v in arrays(preprocessor(FIRST)).items()}

    for text in ["bad", b"bad", np.array("bad"), tf.constant("bad")]:
        assert_equal(arrays(preprocessor(text)), expected)


def test_the_unknown_and_the_padding_id_stay_visible(preprocessor):
    preprocessor.tokenizer.encode_batch = lambda texts: [[0, 1]] * len(texts)

    outputs = arrays(preprocessor(["anything"]))

    assert outputs["padding_mask"].tolist() == [[1, 1, 1, 1, 0, 0, 0]]


def test_sequence_length_can_be_changed(preprocessor):
    preprocessor(FIRST)
    preprocessor.sequence_length = 5

    assert preprocessor(FIRST)["token_ids"].shape == (4, 5)


def test_config_round_trip(tokenizer):
    preprocessor = AlbertTextClassifierPreprocessor(
        tokenizer, sequence_length=9, truncate="waterfall"
    )

    copy = AlbertTextClassifierPreprocessor.from_config(
        preprocessor.get_config()
    )

    assert type(copy.tokenizer) is type(tokenizer)
    assert copy.get_config() == preprocessor.get_config()
    assert (copy.sequence_length, copy.truncate) == (9, "waterfall")


@pytest.mark.parametrize("kind", ["sentence_piece", "word_piece"])
@pytest.mark.parametrize(
    "cls",
    [
        AlbertTextClassifierPreprocessor,
        keras_hub.models.TextClassifierPreprocessor,
    ],
)
def test_preset_reloads_the_same_tokenizer(kind, cls, tmp_path):
    model = tiny_classifier(kind, sequence_length=9, num_classes=2)
    model.preprocessor.truncate = "waterfall"
    model.save_to_preset(str(tmp_path))

    copy = cls.from_preset(str(tmp_path))

    assert type(copy) is AlbertTextClassifierPreprocessor
    assert type(copy.tokenizer) is type(model.preprocessor.tokenizer)
    assert_equal(
        arrays(copy((FIRST, SECOND))),
        arrays(model.preprocessor((FIRST, SECOND))),
    )


def test_preset_of_a_backbone_alone(tmp_path):
    model = tiny_classifier("word_piece", num_classes=2)
    model.backbone.save_to_preset(str(tmp_path))
    model.preprocessor.tokenizer.save_to_preset(str(tmp_path))

    copy = AlbertTextClassifierPreprocessor.from_preset(
        str(tmp_path), sequence_length=9
    )

    assert copy(["dull"])["token_ids"].shape == (1, 9)
    assert type(copy.tokenizer) is type(model.preprocessor.tokenizer)


@pytest.mark.parametrize(
    "x, message",
    [
        ([[5, 6]], "must be strings"),
        (["a", 3], "Received: 3 of type int"),
        ((["a"], ["b"], ["c"]), "a tuple of 3"),
    ],
)
def test_wrong_input(preprocessor, x, message):
    with pytest.raises(ValueError, match=message):
        preprocessor(x, None)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"truncate": "left"}, "truncate='left'"),
        ({"sequence_length": 2}, "sequence_length=2"),
    ],
)
def test_wrong_arguments(tokenizer, options, message):
    with pytest.raises(ValueError, match=message):
        AlbertTextClassifierPreprocessor(tokenizer, **options)
