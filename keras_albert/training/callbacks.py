"""What happens beside the training steps: bars, records, checkpoints.

Each callback knows the step it started from, so that a resumed run goes on
counting. None of them prints.
"""

import hashlib
import signal
import threading
import time
from pathlib import Path

import keras
import numpy as np

from keras_albert.data.whole_files import replace_atomically
from keras_albert.data.whole_files import write_atomically

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


class TrainingDiverged(FloatingPointError):
    """The loss or a weight is no longer a finite number.

    Attributes:
        step: int. Steps done.
        checkpoint: path of the last good state, or `None`.
    """

    def __init__(self, what, step, checkpoint):
        state = (
            "There is no earlier state."
            if checkpoint is None
            else f"The last good state is {checkpoint}."
        )
        super().__init__(
            f"{what} after step {step}. {state} Start again with half the "
            "learning rate or a longer warm-up; with float16, take bfloat16."
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
    its name is its step, and a `.sha256` file beside it proves it whole. A
    state with a weight that is not finite is never saved. Put it behind
    `HistoryRecorder`: then a history may run ahead of the last checkpoint,
    never behind it.

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
            # After saving, which brings JAX's state back into the variables.
            self._check_finite()
            digest = _sha256(temporary)
            # Before the renaming: a checkpoint never lacks its proof.
            write_atomically(_proof_of(path), f"{digest}  {path.name}\n")
        wanted = {path.name, _CHECKPOINT.format(self._best_step())}
        for other in self.folder.glob("step-*.weights.h5"):
            if other.name not in wanted:
                other.unlink()
                _proof_of(other).unlink(missing_ok=True)
        return path

    def _check_finite(self):
        for variable in self.model.variables:
            if not np.isfinite(keras.ops.convert_to_numpy(variable)).all():
                raise TrainingDiverged(
                    f"The weight {variable.path} is not finite",
                    self.step,
                    last_checkpoint(self.folder)[1],
                )

    def _best_step(self):
        scored = [r for r in self.history if self.monitor in r]
        if not scored:
            return self.step
        return min(scored, key=lambda r: r[self.monitor])["step"]


class StopOnInterrupt(StepCallback):
    """Turns Ctrl-C and SIGTERM into a saved state and `TrainingInterrupted`.

    The step that is running is finished first, because half a step is not a
    state. A second signal stops at once. Put it behind `Checkpoints`.

    Args:
        checkpoints: `Checkpoints`.
        start_step: int. Defaults to 0.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, checkpoints, start_step=0):
        super().__init__(start_step)
        self.checkpoints = checkpoints
        self.requested = False
        self._previous = {}

    def on_train_begin(self, logs=None):
        """Takes over the signals; only the main thread may."""
        if threading.current_thread() is threading.main_thread():
            for number in self.SIGNALS:
                self._previous.setdefault(
                    number, signal.signal(number, self._request)
                )

    def on_train_end(self, logs=None):
        """Gives the signals back."""
        self.release()

    def on_train_batch_end(self, batch, logs=None):
        """Stops after the step in which the signal came."""
        super().on_train_batch_end(batch, logs)
        if self.requested:
            self.release()
            raise TrainingInterrupted(self.step, self.checkpoints.save())

    def release(self):
        """Restores what the signals did before; also after a failed `fit`."""
        while self._previous:
            signal.signal(*self._previous.popitem())

    def _request(self, number, frame):
        if self.requested:
            self.release()
            raise KeyboardInterrupt
        self.requested = True


def last_checkpoint(folder):
    """Returns `(step, path)` of the newest whole checkpoint, or `(0, None)`.

    One whose content does not match its proof, as after a full disk or a
    failing one, is passed over for the one before it.
    """
    for path in sorted(Path(folder).glob("step-*.weights.h5"), reverse=True):
        if _is_whole(path):
            return int(path.name.split("-")[1].split(".")[0]), path
    return 0, None


def _is_whole(path):
    proof = _proof_of(path)
    return proof.is_file() and proof.read_text().split()[0] == _sha256(path)


def _proof_of(path):
    return path.with_name(f"{path.name}.sha256")


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore_checkpoint(model, path):
    """Loads weights, moments and iteration into a compiled model."""
    # Without its slots the optimizer would be skipped without a word.
    model.optimizer.build(model.trainable_variables)
    model.load_weights(path)


def _describe_loss(logs):
    return f"loss {logs['loss']:.3f}" if "loss" in logs else ""
