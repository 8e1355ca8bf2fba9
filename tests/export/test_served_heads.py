"""The heads' graphs against the Keras heads and numbers made by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.opening import served_task
from keras_albert.export.served_heads import ClassHead
from keras_albert.export.served_heads import LikeliestTokens
from keras_albert.export.served_heads import ScoresAtPlaces
from keras_albert.export.served_heads import mean_of_tokens
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer

HIDDEN = np.random.default_rng(2).normal(size=(2, 5, 8)).astype("float32")
POSITIONS = np.array([[3, 0, 1], [4, 4, 2]], "int32")


@pytest.fixture(scope="module")
def head():
    """A Keras head, what it scores at `POSITIONS`, and its table."""
    model = tiny_pretrainer("word_piece")
    logits = model.masked_lm_head(HIDDEN, mask_positions=POSITIONS)
    table = tf.constant(model.backbone.token_embedding.embeddings.numpy())
    return model.masked_lm_head, keras.ops.convert_to_numpy(logits), table


def test_scores_at_places(head):
    keras_head, want, table = head

    found = ScoresAtPlaces(keras_head, table)(HIDDEN, POSITIONS)

    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_likeliest_tokens_where_masks_are(head):
    keras_head, want, table = head
    is_mask = np.zeros((2, 5), bool)
    is_mask[0, [0, 1, 3]] = True

    found = LikeliestTokens(keras_head, table, 4)(HIDDEN, is_mask)

    assert found["num_masks"].numpy().tolist() == [3, 0]
    # In the order of the row, not of `POSITIONS`.
    probabilities = softmax(want[0, [1, 2, 0]])
    best = np.argsort(-probabilities, 1)[:, :4]
    assert found["candidates"].numpy()[0, :3].tolist() == best.tolist()
    np.testing.assert_allclose(
        found["scores"][0, :3],
        np.take_along_axis(probabilities, best, 1),
        atol=1e-6,
    )
    assert (found["candidates"].numpy()[0, 3:] == -1).all()
    assert not found["scores"].numpy()[1].any()


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_value(activation):
    model = tiny_classifier("word_piece", num_classes=1, activation=activation)
    head = ClassHead(model, served_task(model, model.preprocessor))
    vectors = HIDDEN[:, 0]

    found = head(vectors)["value"].numpy()

    want = vectors @ model.logits.kernel.numpy() + model.logits.bias.numpy()
    if activation:
        want = 1 / (1 + np.exp(-want))
    np.testing.assert_allclose(found, want[:, 0], atol=1e-5)


def test_probabilities():
    model = tiny_classifier("word_piece", num_classes=3)
    head = ClassHead(model, served_task(model, model.preprocessor))
    vectors = HIDDEN[:, 0]

    found = head(vectors)["probabilities"].numpy()

    want = vectors @ model.logits.kernel.numpy() + model.logits.bias.numpy()
    np.testing.assert_allclose(found, softmax(want), atol=1e-5)


def test_mean_leaves_padding_out():
    hidden = tf.constant([[[1.0, 2.0], [3.0, 5.0], [9.0, 9.0]]] * 2)
    mask = tf.constant([[1, 1, 0], [0, 0, 0]])

    means = mean_of_tokens(hidden, mask).numpy()

    assert means.tolist() == [[2.0, 3.5], [0.0, 0.0]]
