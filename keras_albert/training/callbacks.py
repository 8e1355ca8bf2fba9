"""What happens beside the training steps: bars, records, checkpoints.

Each callback knows the step it started from, so that a resumed run goes on
counting. None of them prints.
"""

import signal
import threading
import time
from pathlib import Path

import keras

from keras_albert.training.files import replace_atomically

_CHECKPOINT = "step-{:08d}.weights.h5"


class TrainingInterrupted(KeyboardInterrupt):
    """The user asked to stop; everything needed to go on has been saved.

    Attributes:
        step: int. The number of steps done.
        checkpoint: path of the state at that step.
    """

    def __init__(self, step, checkpoint):
        super().__init__(
            f"Stopped after step {step}; its state is in {checkpoint}. The "
            "same call continues from there."
        )
        self.step = step
        self.checkpoint = checkpoint


class StepCallback(keras.callbacks.Callback):
    """Base: counts the optimizer steps of a run, over several `fit` calls.

    Args:
        start_step: int. Steps done before the first `fit`. Defaults to 0.
    """

    def __init__(self, start_step=0):
        super().__init__()
        self.step = start_step

    def on_train_batch_end(self, batch, logs=None):
        """Counts the step."""
        self.step += 1


class ProgressBar(StepCallback):
    """Moves a bar of a `rich.progress.Progress` that the caller shows.

    Args:
        progress: `rich.progress.Progress`.
        total: int. Steps of the whole run.
        description: string in front of the bar.
        start_step: int. Defaults to 0.
        describe: function of Keras's logs that returns a short string, shown
            behind `description`. Defaults to the loss.
    """

    def __init__(
        self, progress, total, description, start_step=0, describe=None
    ):
        super().__init__(start_step)
        self.progress = progress
        self.description = description
        self.describe = describe or _describe_loss
        self.task = progress.add_task(
            description, total=total, completed=start_step
        )

    def on_train_batch_end(self, batch, logs=None):
        """Moves the bar."""
        super().on_train_batch_end(batch, logs)
        self.progress.update(
            self.task,
            completed=self.step,
            description=f"{self.description} {self.describe(logs or {})}",
        )


class HistoryRecorder(StepCallback):
    """Appends one record to a history at the end of every epoch.

    Args:
        history: list. Records are appended to it; see `training.curves`.
        on_record: function called with the history after each record.
        start_step: int. Defaults to 0.
    """

    def __init__(self, history, on_record=None, start_step=0):
        super().__init__(start_step)
        self.history = history
        self.on_record = on_record
        earlier = history[-1].get("seconds", 0.0) if history else 0.0
        self._began = time.monotonic() - earlier

    def on_epoch_end(self, epoch, logs=None):
        """Adds the record."""
        record = {"step": self.step}
        record.update({k: float(v) for k, v in (logs or {}).items()})
        record["learning_rate"] = float(self.model.optimizer.learning_rate)
        record["seconds"] = round(time.monotonic() - self._began, 1)
        self.history.append(record)
        if self.on_record is not None:
            self.on_record(self.history)


class Checkpoints(StepCallback):
    """Saves weights and optimizer, and keeps the last and the best state.

    A checkpoint is one `.weights.h5` file with weights, moments and iteration;
    its name is its step. Put it behind `HistoryRecorder`: then a history may
    run ahead of the last checkpoint, never behind it.

    Args:
        folder: path.
        history: list. Records, from which the best step is read.
        every: int, optional. Steps between checkpoints, beside one at the
            end of every epoch.
        monitor: string. Lower is better. Defaults to `"val_loss"`.
        start_step: int. Defaults to 0.
    """

    def __init__(
        self, folder, history, every=None, monitor="val_loss", start_step=0
    ):
        super().__init__(start_step)
        self.folder = Path(folder)
        self.history = history
        self.every = every
        self.monitor = monitor

    def on_train_batch_end(self, batch, logs=None):
        """Saves at every multiple of `every`."""
        super().on_train_batch_end(batch, logs)
        if self.every and self.step % self.every == 0:
            self.save()

    def on_epoch_end(self, epoch, logs=None):
        """Saves after an evaluation."""
        self.save()

    def save(self):
        """Saves the present state and removes what is no longer wanted.

        Returns:
            The path written to.
        """
        path = self.folder / _CHECKPOINT.format(self.step)
        with replace_atomically(path) as temporary:
            self.model.save_weights(temporary)
        wanted = {path.name, _CHECKPOINT.format(self._best_step())}
        for other in self.folder.glob("step-*.weights.h5"):
            if other.name not in wanted:
                other.unlink()
        return path

    def _best_step(self):
        scored = [r for r in self.history if self.monitor in r]
        if not scored:
            return self.step
        return min(scored, key=lambda r: r[self.monitor])["step"]


class StopOnInterrupt(StepCallback):
    """Turns Ctrl-C into a saved state and a `TrainingInterrupted`.

    The step that is running is finished first, because half a step is not a
    state. A second Ctrl-C stops at once. Put it behind `Checkpoints`.

    Args:
        checkpoints: `Checkpoints`.
        start_step: int. Defaults to 0.
    """

    def __init__(self, checkpoints, start_step=0):
        super().__init__(start_step)
        self.checkpoints = checkpoints
        self.requested = False
        self._previous = None

    def on_train_begin(self, logs=None):
        """Takes over Ctrl-C; only the main thread may."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._request)

    def on_train_end(self, logs=None):
        """Gives Ctrl-C back."""
        self.release()

    def on_train_batch_end(self, batch, logs=None):
        """Stops after the step in which Ctrl-C was pressed."""
        super().on_train_batch_end(batch, logs)
        if self.requested:
            self.release()
            raise TrainingInterrupted(self.step, self.checkpoints.save())

    def release(self):
        """Restores what Ctrl-C did before; also after a failed `fit`."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def _request(self, number, frame):
        if self.requested:
            self.release()
            raise KeyboardInterrupt
        self.requested = True


def last_checkpoint(folder):
    """Returns `(step, path)` of the newest checkpoint, or `(0, None)`."""
    paths = sorted(Path(folder).glob("step-*.weights.h5"))
    if not paths:
        return 0, None
    return int(paths[-1].name.split("-")[1].split(".")[0]), paths[-1]


def restore_checkpoint(model, path):
    """Loads weights, moments and iteration into a compiled model."""
    # Without its slots the optimizer would be skipped without a word.
    model.optimizer.build(model.trainable_variables)
    model.load_weights(path)


def _describe_loss(logs):
    return f"loss {logs['loss']:.3f}" if "loss" in logs else ""
