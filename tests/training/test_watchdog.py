import math
import types

import keras
import numpy as np
import pytest

from keras_albert.training import callbacks
from keras_albert.training import state_files
from keras_albert.training.watchdog import Watchdog

VOCABULARY_SIZE = 1000
FLOOR = 6.0


@pytest.fixture
def watch():
    def make(**changes):
        alarms = []
        dog = Watchdog(
            alarms,
            **{
                "vocabulary_size": VOCABULARY_SIZE,
                "masked_lm_floor": FLOOR,
                "num_pairs": 400,
                "steps": 2000,
                "warmup_steps": 20,
                "last_checkpoint": lambda: "step-1.weights.h5",
                **changes,
            },
        )
        return dog, alarms

    return make


def see(dog, losses):
    """Shows losses as `fit` does."""
    dog.set_model(types.SimpleNamespace(optimizer=None))
    for batch, loss in enumerate(losses):
        dog.on_train_batch_end(batch, {"masked_lm_step_loss": loss})


def kinds(alarms):
    return [alarm.kind for alarm in alarms]


def test_a_loss_that_falls_raises_nothing(watch):
    dog, alarms = watch()

    see(dog, np.linspace(6.9, 4.0, 500) + 0.2 * np.sin(np.arange(500)))

    assert not alarms


def test_a_loss_at_log_v_is_reported_once_after_the_warm_up(watch):
    dog, alarms = watch()
    log_v = math.log(VOCABULARY_SIZE)

    see(dog, [log_v] * 119)
    assert not alarms
    see(dog, [log_v] * 200)

    assert kinds(alarms) == ["log_vocabulary"]
    assert alarms[0].step == 120
    assert "ln V = 6.91" in alarms[0].message
    assert "learning rate" in alarms[0].message


def test_each_jump_is_reported(watch):
    dog, alarms = watch()
    low, high = [4.0] * 150, [5.0] * 200

    see(dog, low + high + low + [6.0] * 20)

    assert kinds(alarms) == ["jump", "jump"]
    assert 150 < alarms[0].step <= 160
    assert "step-1.weights.h5" in alarms[0].message


def test_a_single_bad_step_is_no_jump(watch):
    dog, alarms = watch()

    see(dog, [4.0] * 150 + [8.0] + [4.0] * 150)

    assert not alarms


def test_an_evaluation_at_the_floor_is_reported_in_the_second_half(watch):
    dog, alarms = watch()
    logs = {"val_masked_lm_loss": FLOOR - 0.01}

    dog.step = 999
    dog.on_epoch_end(0, logs)
    assert not alarms
    dog.step = 1000
    dog.on_epoch_end(0, {"val_masked_lm_loss": FLOOR - 0.06})
    assert not alarms
    dog.on_epoch_end(0, logs)
    dog.on_epoch_end(0, logs)

    assert kinds(alarms) == ["frequencies_only"]


@pytest.mark.parametrize("accuracy, expected", [(0.549, 1), (0.551, 0)])
def test_order_is_at_chance_within_two_standard_errors(
    watch, accuracy, expected
):
    """Of 400 pairs: 0.5 + 2 * 0.5 / 20 = 0.55."""
    dog, alarms = watch()
    dog.step = 1500

    dog.on_epoch_end(0, {"val_sentence_order_accuracy": accuracy})

    assert kinds(alarms) == ["order_at_chance"] * expected


def test_without_pairs_order_is_not_judged(watch):
    dog, alarms = watch(num_pairs=0)
    dog.step = 1500

    dog.on_epoch_end(0, {"val_sentence_order_accuracy": 0.0})

    assert not alarms


@pytest.mark.every_backend
def test_a_loss_that_is_not_finite_ends_a_real_run(watch, tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e30), loss="mse", jit_compile=False)
    checkpoints = callbacks.Checkpoints(tmp_path, [], every=1)
    dog, _ = watch(last_checkpoint=lambda: state_files.last_state(tmp_path)[1])
    x = np.full((50, 2), 1e3, "float32")

    with pytest.raises(callbacks.TrainingDiverged) as error:
        model.fit(x, x[:, :1], batch_size=1, callbacks=[dog, checkpoints])

    assert "half the learning rate" in str(error.value)
    step, path = state_files.last_state(tmp_path)
    assert error.value.checkpoint == path
    assert step < error.value.step
