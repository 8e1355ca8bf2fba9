import keras
import numpy as np
import pytest

from keras_albert.training.averaging import EvaluateAverage
from keras_albert.training.averaging import averaged_weights
from keras_albert.training.run_optimizers import RunAdamW

pytestmark = pytest.mark.every_backend


def make_model(**arguments):
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False)]
    )
    model.compile(RunAdamW(0.5, **arguments), loss="mse", jit_compile=False)
    model.layers[0].kernel.assign([[0.0]])
    return model


def test_evaluations_see_the_average_and_training_does_not():
    x = np.ones((2, 1), "float32")
    model, plain = make_model(use_ema=True, ema_momentum=0.5), make_model()
    fit = {"batch_size": 1, "epochs": 2, "shuffle": False, "verbose": 0}

    history = model.fit(
        x, x, validation_data=(x, x), callbacks=[EvaluateAverage()], **fit
    )
    plain.fit(x, x, **fit)

    np.testing.assert_array_equal(
        model.get_weights()[0], plain.get_weights()[0]
    )
    with averaged_weights(model):
        average = float(model.get_weights()[0][0, 0])
    assert average != float(plain.get_weights()[0][0, 0])
    # The error of a model with weight w on x = y = 1 is (1 - w)^2.
    np.testing.assert_allclose(
        history.history["val_loss"][-1], (1 - average) ** 2, rtol=1e-4
    )


def test_without_an_average_nothing_changes():
    model = make_model()
    before = model.get_weights()

    with averaged_weights(model):
        np.testing.assert_array_equal(model.get_weights(), before)

    averaging = make_model(use_ema=True)
    averaging.optimizer.build(averaging.trainable_variables)
    before = averaging.get_weights()
    with averaged_weights(averaging):
        np.testing.assert_array_equal(averaging.get_weights(), before)
