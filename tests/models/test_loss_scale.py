"""What several devices do is tested with the strategies, in tests/training."""

import keras
import pytest
from keras import ops

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.loss_scale import LossScale
from keras_albert.models.loss_scale import scale_together
from keras_albert.models.pretrainer import AlbertPretrainer

pytestmark = pytest.mark.every_backend


def test_float16_models_are_compiled_with_it():
    sizes = 11, 2, 2, 3, 8, 13
    model = AlbertPretrainer(AlbertBackbone(*sizes, dtype="mixed_float16"))
    adam = keras.optimizers.Adam(1e-3)
    model.compile(adam)

    assert type(model.optimizer) is LossScale
    assert model.optimizer.inner_optimizer is adam
    model = AlbertPretrainer(AlbertBackbone(*sizes))
    model.compile(adam)
    assert model.optimizer is adam


def test_settings_are_kept():
    given = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(1e-3), initial_scale=8.0, dynamic_growth_steps=5
    )
    made = scale_together(given)

    assert made.get_config() == given.get_config()
    assert scale_together(made) is made


def test_an_overflow_is_seen():
    optimizer = LossScale(keras.optimizers.Adam(1e-3))

    assert bool(optimizer.check_finite([ops.ones(2), ops.zeros(3)]))
    assert not bool(optimizer.check_finite([ops.ones(2), ops.ones(1) / 0.0]))
