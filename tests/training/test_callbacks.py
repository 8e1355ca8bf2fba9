import signal

import keras
import numpy as np
import pytest

from keras_albert.training import callbacks
from keras_albert.training import state_files

pytestmark = pytest.mark.every_backend


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.1), loss="mse", jit_compile=False)
    return model


def fit(model, made, steps=4, epochs=1):
    x = np.ones((steps, 2), "float32")
    model.fit(
        x,
        x[:, :1],
        batch_size=1,
        epochs=epochs,
        callbacks=made,
        verbose=0,
        shuffle=False,
    )


def steps_in(folder):
    return sorted(
        int(path.name.split("-")[1].split(".")[0])
        for path in folder.glob("*.weights.h5")
    )


def test_only_the_last_and_the_best_state_stay(model, tmp_path):
    history = [{"step": 6, "val_loss": 1.0}, {"step": 8, "val_loss": 2.0}]
    checkpoints = callbacks.Checkpoints(tmp_path, history, 2, start_step=4)

    fit(model, [checkpoints], steps=6)

    assert steps_in(tmp_path) == [6, 10]
    assert state_files.last_state(tmp_path)[0] == 10


def test_a_restored_state_has_moments_and_iteration(model, tmp_path):
    checkpoints = callbacks.Checkpoints(tmp_path, [])
    fit(model, [checkpoints])
    other = keras.models.clone_model(model)
    other.compile(keras.optimizers.Adam(0.1), loss="mse", jit_compile=False)

    step, path = state_files.last_state(tmp_path)
    state_files.restore_state(other, path)

    assert step == int(other.optimizer.iterations) == 4
    fit(model, [])
    fit(other, [])
    for ours, expected in zip(
        other.get_weights(), model.get_weights(), strict=True
    ):
        np.testing.assert_allclose(ours, expected, atol=1e-7)


def test_an_empty_folder_has_no_checkpoint(tmp_path):
    assert state_files.last_state(tmp_path / "none") == (0, None)


def test_records_hold_step_rate_and_time_and_go_on_counting(model):
    history = [{"step": 3, "seconds": 100.0}]
    seen = []
    recorder = callbacks.HistoryRecorder(
        history, lambda h: seen.append(len(h)), start_step=3
    )

    fit(model, [recorder], epochs=2)

    assert [r["step"] for r in history] == [3, 7, 11]
    assert history[1]["loss"] >= 0
    assert history[1]["learning_rate"] == pytest.approx(0.1)
    assert history[1]["seconds"] >= 100.0
    assert seen == [2, 3]


def test_a_record_takes_means_over_steps_and_no_single_step(model):
    """The mean of a resumed interval is over all its steps."""
    history = []
    recorder = callbacks.HistoryRecorder(
        history, step_means=lambda: {"loss": 8.0}
    )
    recorder.set_model(model)

    recorder.on_epoch_end(0, {"loss": 1.0, "a_step_loss": 5.0, "val_loss": 2.0})

    assert history[0]["loss"] == 8.0
    assert history[0]["val_loss"] == 2.0
    assert "a_step_loss" not in history[0]


def test_a_step_is_an_update_however_many_batches_it_takes(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1, gradient_accumulation_steps=3)
    model.compile(optimizer, loss="mse", jit_compile=False)
    checkpoints = callbacks.Checkpoints(tmp_path, [], every=2)

    fit(model, [checkpoints], steps=18)

    assert checkpoints.step == 6
    assert steps_in(tmp_path) == [6]
    assert callbacks.batches_per_step(optimizer) == 3
    assert callbacks.batches_per_step(keras.optimizers.SGD()) == 1


class PressCtrlC(keras.callbacks.Callback):
    """Interrupts at one batch, once or more often."""

    def __init__(self, batch, times=1):
        super().__init__()
        self.batch, self.times = batch, times

    def on_train_batch_begin(self, batch, logs=None):
        if batch == self.batch:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)


def test_ctrl_c_finishes_the_step_and_saves(model, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    checkpoints = callbacks.Checkpoints(tmp_path, [])
    stop = callbacks.StopOnInterrupt(checkpoints)

    with pytest.raises(callbacks.TrainingInterrupted) as error:
        fit(model, [checkpoints, stop, PressCtrlC(1)])

    assert error.value.step == 2
    assert error.value.checkpoint.is_file()
    assert "continues" in str(error.value)
    assert int(model.optimizer.iterations) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_stops_at_once(model, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    checkpoints = callbacks.Checkpoints(tmp_path, [])
    stop = callbacks.StopOnInterrupt(checkpoints)

    with pytest.raises(KeyboardInterrupt) as error:
        fit(model, [checkpoints, stop, PressCtrlC(1, times=2)])

    assert not isinstance(error.value, callbacks.TrainingInterrupted)
    assert not steps_in(tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_bar_moves_from_where_the_run_starts(model):
    from rich.progress import Progress

    progress = Progress(disable=True)
    fit(model, [callbacks.ProgressBar(progress, 9, "training", start_step=5)])

    assert progress.tasks[0].completed == 9
    assert progress.tasks[0].finished
    assert progress.tasks[0].description.startswith("training loss ")


def test_sigterm_saves_like_ctrl_c(model, tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    class Terminate(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 1:
                signal.raise_signal(signal.SIGTERM)

    checkpoints = callbacks.Checkpoints(tmp_path, [])
    stop = callbacks.StopOnInterrupt(checkpoints)
    with pytest.raises(callbacks.TrainingInterrupted):
        fit(model, [checkpoints, stop, Terminate()])

    assert state_files.last_state(tmp_path)[0] == 2
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_state_that_is_not_finite_is_never_saved(model, tmp_path):
    checkpoints = callbacks.Checkpoints(tmp_path, [])
    fit(model, [checkpoints], steps=2)
    model.layers[0].kernel.assign([[np.nan], [1.0]])

    with pytest.raises(callbacks.TrainingDiverged, match="kernel") as error:
        fit(model, [checkpoints], steps=1)

    assert error.value.checkpoint.name == "step-00000002.weights.h5"
    assert steps_in(tmp_path) == [2]
