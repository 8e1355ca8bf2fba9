"""What happens beside the training steps: bars, records, checkpoints.

Each callback knows the step it started from, so that a resumed run goes on
counting. None of them prints.
"""

import contextlib
import signal
import threading
import time
from pathlib import Path

import keras
import numpy as np

from keras_albert.training.run_optimizers import inner_optimizer
from keras_albert.training.state_files import last_state
from keras_albert.training.state_files import list_states
from keras_albert.training.state_files import remove_state
from keras_albert.training.state_files import save_state
from keras_albert.training.step_metrics import is_step_value


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
    """Base: counts the optimizer updates of a run, over several `fit` calls.

    With gradient accumulation a step is one update, made of several batches.

    Args:
        start_step: int. Steps done before the first `fit`. Defaults to 0.
    """

    def __init__(self, start_step=0):
        super().__init__()
        self.step = start_step
        self._batches = 0
        self._next_batch = 0

    def on_epoch_begin(self, epoch, logs=None):
        """Keras counts the batches of each epoch anew."""
        self._next_batch = 0

    def on_train_batch_end(self, batch, logs=None):
        """Counts the batch, and the step with its last batch.

        With `steps_per_execution`, Keras calls this for several at once.
        """
        parts = batches_per_step(self.model.optimizer)
        before = self._batches // parts
        self._batches += max(1, batch + 1 - self._next_batch)
        self._next_batch = batch + 1
        passed = self._batches // parts - before
        if passed:
            self.step += passed
            self.on_step_end(logs or {})

    def on_step_end(self, logs):
        """Called after each optimizer update, with Keras's logs."""


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

    def on_step_end(self, logs):
        """Moves the bar."""
        self.progress.update(
            self.task,
            completed=self.step,
            description=f"{self.description} {self.describe(logs)}",
        )


class HistoryRecorder(StepCallback):
    """Appends one record to a history at the end of every epoch.

    Args:
        history: list. Records are appended to it; see `training.curves`.
        on_record: function called with the history after each record.
        start_step: int. Defaults to 0.
        step_means: function that returns a dict of the interval's means, each
            of which replaces Keras's own, optional. Keras's start anew where
            a run is resumed.
    """

    def __init__(self, history, on_record=None, start_step=0, step_means=None):
        super().__init__(start_step)
        self.history = history
        self.on_record = on_record
        self.step_means = step_means or dict
        earlier = history[-1].get("seconds", 0.0) if history else 0.0
        self._began = time.monotonic() - earlier

    def on_epoch_end(self, epoch, logs=None):
        """Adds the record."""
        record = {"step": self.step}
        logs = {**(logs or {}), **self.step_means()}
        record.update(
            {k: float(v) for k, v in logs.items() if not is_step_value(k)}
        )
        rate = self.model.optimizer.learning_rate
        record["learning_rate"] = float(keras.ops.convert_to_numpy(rate))
        record["seconds"] = round(time.monotonic() - self._began, 1)
        self.history.append(record)
        if self.on_record is not None:
            self.on_record(self.history)


class Checkpoints(StepCallback):
    """Saves weights and optimizer, and keeps the last and the best state.

    A checkpoint is a file of `state_files`. A state with a weight that is not
    finite is never saved. Put it behind
    `HistoryRecorder`: then a history may run ahead of the last checkpoint,
    never behind it.

    Args:
        folder: path.
        history: list. Records, from which the best step is read.
        every: int, optional. Steps between checkpoints, beside one at the
            end of every epoch.
        monitor: string. Lower is better. Defaults to `"val_loss"`.
        start_step: int. Defaults to 0.
        whole_weights: function of the model that returns a context manager,
            in which this process has all weights. Defaults to one device's.
        shown_folder: path, optional. Where the user finds the states, if this
            process writes to a folder that is forgotten.
    """

    def __init__(
        self,
        folder,
        history,
        every=None,
        monitor="val_loss",
        start_step=0,
        whole_weights=contextlib.nullcontext,
        shown_folder=None,
    ):
        super().__init__(start_step)
        self.folder = Path(folder)
        self.shown_folder = Path(shown_folder or folder)
        self.history = history
        self.every = every
        self.monitor = monitor
        self.whole_weights = whole_weights

    def on_step_end(self, logs):
        """Saves at every multiple of `every`."""
        if self.every and self.step % self.every == 0:
            self.save()

    def on_epoch_end(self, epoch, logs=None):
        """Saves after an evaluation."""
        self.save()

    def save(self):
        """Saves the present state and removes what is no longer wanted.

        Returns:
            The path where the user finds it.
        """
        with self.whole_weights(self.model):
            path = save_state(self.model, self.folder, self.step, self._check)
        wanted = {self.step, self._best_step()}
        for step, other in list_states(self.folder).items():
            if step not in wanted:
                remove_state(other)
        return self.shown_folder / path.name

    def _check(self):
        for variable in self.model.variables:
            if not np.isfinite(keras.ops.convert_to_numpy(variable)).all():
                raise TrainingDiverged(
                    f"The weight {variable.path} is not finite",
                    self.step,
                    last_state(self.shown_folder)[1],
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
        agree: function of `(requested, step)` that returns whether any
            process was asked to stop, the same in all. Defaults to this one's.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, checkpoints, start_step=0, agree=None):
        super().__init__(start_step)
        self.checkpoints = checkpoints
        self.agree = agree or (lambda requested, step: requested)
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

    def on_step_end(self, logs):
        """Stops after the step in which the signal came."""
        if self.agree(self.requested, self.step):
            self.release()
            raise TrainingInterrupted(self.step, self.checkpoints.save())

    def close(self):
        """Gives the signals back, also after a failed `fit`."""
        self.release()

    def release(self):
        """Restores what the signals did before."""
        while self._previous:
            signal.signal(*self._previous.popitem())

    def _request(self, number, frame):
        if self.requested:
            self.release()
            raise KeyboardInterrupt
        self.requested = True


def batches_per_step(optimizer):
    """Returns how many batches one update of a Keras optimizer takes."""
    optimizer = inner_optimizer(optimizer)
    return getattr(optimizer, "gradient_accumulation_steps", None) or 1


def _describe_loss(logs):
    return f"loss {logs['loss']:.3f}" if "loss" in logs else ""
