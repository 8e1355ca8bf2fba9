import keras
import numpy as np
import pytest

from keras_albert.training.step_metrics import StepValue
from keras_albert.training.step_metrics import is_step_value
from keras_albert.training.step_metrics import step_metrics
from keras_albert.training.step_metrics import step_values

TARGETS = np.array([[0, 2], [1, 0]])
LOGITS = np.random.default_rng(0).normal(size=(2, 2, 3)).astype("float32")
WEIGHTS = np.array([[1.0, 0.0], [1.0, 0.5]], "float32")


def cross_entropy():
    exponentials = np.exp(LOGITS)
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    return -np.log(np.take_along_axis(shares, TARGETS[..., None], -1))[..., 0]


@pytest.mark.every_backend
@pytest.mark.parametrize("divide", [True, False])
def test_loss_and_accuracy_of_the_newest_batch(divide):
    loss, accuracy = step_metrics(divide)
    for metric in (loss, accuracy):
        metric.update_state(TARGETS, -LOGITS, WEIGHTS)
        metric.update_state(TARGETS, LOGITS, WEIGHTS)

    total = WEIGHTS.sum() if divide else 1.0
    right = LOGITS.argmax(-1) == TARGETS
    np.testing.assert_allclose(
        float(loss.result()), (cross_entropy() * WEIGHTS).sum() / total, 1e-5
    )
    np.testing.assert_allclose(
        float(accuracy.result()), (right * WEIGHTS).sum() / total, 1e-5
    )


def test_a_batch_without_targets_counts_nothing():
    metric = StepValue(keras.metrics.mean_absolute_error, "step_error")
    metric.update_state([[1.0]], [[2.0]], [0.0])

    assert float(metric.result()) == 0.0


@pytest.mark.every_backend
def test_fit_reports_each_step_alone():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(
        keras.optimizers.SGD(0.0),
        loss="mae",
        weighted_metrics=[
            StepValue(keras.metrics.mean_absolute_error, "step_error")
        ],
        jit_compile=False,
    )
    x = np.array([[1.0], [2.0], [4.0]], "float32")
    expected = np.abs(x - model.predict(x, verbose=0))[:, 0]
    seen = []
    model.fit(
        x,
        x,
        batch_size=1,
        shuffle=False,
        verbose=0,
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda _, logs: seen.append(
                    float(logs["step_error"])
                )
            )
        ],
    )

    np.testing.assert_allclose(seen, expected, rtol=1e-5)


def test_step_values_are_told_from_means():
    logs = {"loss": 1.0, "masked_lm_step_loss": 2.0, "val_a_step_loss": 3.0}

    assert step_values(logs) == {"masked_lm_loss": 2.0}
    assert [name for name in logs if not is_step_value(name)] == ["loss"]
