"""The loss of both heads against its formula."""

import json

import keras
import numpy as np
import pytest

from keras_albert.models.weighted_cross_entropy import WeightedCrossEntropy

pytestmark = pytest.mark.every_backend

GENERATOR = np.random.default_rng(0)
LOGITS = GENERATOR.normal(size=(3, 4, 5)).astype("float32")
LABELS = GENERATOR.integers(0, 5, (3, 4)).astype("int32")
WEIGHTS = GENERATOR.random((3, 4)).astype("float32")


def expected(weights):
    scores = np.float64(LOGITS)
    normal = np.log(np.exp(scores).sum(-1))
    chosen = np.take_along_axis(scores, LABELS[..., None], -1)[..., 0]
    return (weights * (normal - chosen)).sum() / weights.sum()


def test_it_is_the_weighted_mean_over_all_targets():
    loss = float(WeightedCrossEntropy()(LABELS, LOGITS, WEIGHTS))

    assert loss == pytest.approx(expected(np.float64(WEIGHTS)), rel=1e-6)


def test_without_weights_all_targets_count_alike():
    loss = float(WeightedCrossEntropy()(LABELS, LOGITS))

    assert loss == pytest.approx(expected(np.ones((3, 4))), rel=1e-6)


def test_a_batch_without_targets_costs_nothing():
    loss = WeightedCrossEntropy()(LABELS, LOGITS, np.zeros((3, 4), "float32"))

    assert float(loss) == 0.0


def test_it_survives_json():
    loss = WeightedCrossEntropy(name="mine")
    stored = json.loads(json.dumps(keras.saving.serialize_keras_object(loss)))
    again = keras.saving.deserialize_keras_object(stored)

    assert isinstance(again, WeightedCrossEntropy)
    assert again.get_config() == loss.get_config()
    assert float(again(LABELS, LOGITS, WEIGHTS)) == pytest.approx(
        float(loss(LABELS, LOGITS, WEIGHTS))
    )
