"""One record per optimizer update, as JSON lines that a person can plot.

{"step": 7, "loss": 7.61, "masked_lm_loss": 6.92, …, "learning_rate": 0.0001,
 "gradient_norm": 1.3, "tokens_per_second": 5120.0, "data_wait_share": 0.01,
 "flops_per_second": 3.2e11, "seconds": 41.2, "seconds_left": 3600.0}

Records are appended and flushed at every step, so that a killed run has lost
none. A resumed run cuts off those behind its state and goes on: each step is
there once.
"""

import collections
import json
import os
import time
from pathlib import Path

import keras
from keras import ops

from keras_albert.training.callbacks import StepCallback
from keras_albert.training.callbacks import batches_per_step
from keras_albert.training.run_optimizers import inner_optimizer
from keras_albert.training.step_metrics import step_values

RECENT_STEPS = 20


class StepLog(StepCallback):
    """Writes a record at every step; put it in front of all other callbacks.

    Args:
        path: path of the file.
        costs: `RunCosts`, for speed and time left.
        sentence_order_weight: float. Weight of that loss in the whole.
        clock: `WaitClock` of the batches, optional.
        start_step: int. Steps done before the first `fit`. Defaults to 0.

    Attributes:
        latest: dict. The newest record; empty before the first step.
    """

    def __init__(
        self, path, costs, sentence_order_weight=1.0, clock=None, start_step=0
    ):
        super().__init__(start_step)
        self.path = Path(path)
        self.costs = costs
        self.sentence_order_weight = sentence_order_weight
        self.clock = clock
        self.latest = {}
        self._file = None
        self._values = []
        self._interval = []
        self._interval_ended = False
        self._recent = collections.deque(maxlen=RECENT_STEPS)
        self._began = None
        self._waited = 0.0
        self._seconds = 0.0

    def open(self, interval_start):
        """Cuts off what is behind the first step, and reads what is before.

        Args:
            interval_start: int. Where the running interval began; the records
                since then are part of its means.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = cut_steps(self.path, self.step)
        if kept:
            self._seconds = kept[-1].get("seconds", 0.0)
        self._interval = [r for r in kept if r["step"] > interval_start]
        self._file = self.path.open("a", encoding="utf-8")

    def close(self):
        """Closes the file, also after a failed `fit`."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def on_train_batch_begin(self, batch, logs=None):
        """Starts the clock of a step."""
        if self._began is None:
            self._began = time.monotonic()
            self._waited = self.clock.seconds if self.clock else 0.0

    def on_train_batch_end(self, batch, logs=None):
        """Takes the losses of a batch."""
        self._values.append(step_values(logs or {}))
        super().on_train_batch_end(batch, logs)

    def on_step_end(self, logs):
        """Writes the record of the step."""
        now = time.monotonic()
        seconds = now - self._began
        waited = self.clock.seconds - self._waited if self.clock else 0.0
        self._recent.append((self.step, seconds, waited))
        self._seconds += seconds
        self._began = now
        self._waited += waited
        self.latest = {
            "step": self.step,
            **self._losses(),
            "learning_rate": float(self._learning_rate()),
            **self._gradient_norm(),
            **self._speed(),
        }
        if self._interval_ended:
            self._interval, self._interval_ended = [], False
        self._interval.append(self.latest)
        if self._file is not None:
            self._file.write(json.dumps(self.latest) + "\n")
            self._file.flush()

    def on_test_begin(self, logs=None):
        """Stops the clock: an evaluation is no step."""
        self._began = None

    def on_epoch_end(self, epoch, logs=None):
        """Ends an interval, and waits until the file is on the disk."""
        self._began = None
        self._interval_ended = True
        if self._file is not None:
            os.fsync(self._file.fileno())

    def interval_means(self):
        """Returns the means of losses and accuracies since the interval began.

        Also over steps before a resumed run's first.
        """
        records = self._interval
        names = [
            name
            for name in (records[-1] if records else ())
            if name.endswith(("loss", "accuracy"))
            and all(name in record for record in records)
        ]
        return {n: sum(r[n] for r in records) / len(records) for n in names}

    def _losses(self):
        parts, self._values = self._values, []
        values = {
            name: sum(part[name] for part in parts) / len(parts)
            for name in parts[0]
        }
        order = values.get("sentence_order_loss", 0.0)
        loss = values.get("masked_lm_loss", 0.0)
        return {"loss": loss + self.sentence_order_weight * order, **values}

    def _learning_rate(self):
        """The rate of the update just made: that of the step before it."""
        optimizer = inner_optimizer(self.model.optimizer)
        rate = optimizer._learning_rate
        if callable(rate):
            batches = batches_per_step(optimizer)
            return rate((self.step - 1) * batches)
        return ops.convert_to_numpy(rate)

    def _gradient_norm(self):
        optimizer = self.model.optimizer
        variable = getattr(inner_optimizer(optimizer), "gradient_norm", None)
        if variable is None:
            return {}
        value = float(ops.convert_to_numpy(_newest(self.model, variable)))
        # Loss scaling keeps the norm of a step that it skips.
        return {"gradient_norm": value}

    def _speed(self):
        seconds = sum(seconds for _, seconds, _ in self._recent)
        waited = sum(waited for _, _, waited in self._recent)
        steps = [step - 1 for step, _, _ in self._recent]
        tokens = sum(self.costs.tokens(step) for step in steps)
        flops = sum(self.costs.flops(step) for step in steps)
        rate = flops / seconds
        share = {"data_wait_share": waited / seconds} if self.clock else {}
        return {
            "tokens_per_second": round(tokens / seconds, 1),
            **{name: round(min(x, 1.0), 4) for name, x in share.items()},
            "flops_per_second": float(f"{rate:.4g}"),
            "seconds": round(self._seconds, 2),
            "seconds_left": round(self.costs.flops_left(self.step) / rate, 1),
        }


def _newest(model, variable):
    """The value of an optimizer's variable during `fit`.

    JAX's trainer keeps the values of a running `fit` outside of the variables,
    and bringing all of them back at every step would cost time.
    """
    state = getattr(model, "_jax_state", None)
    if keras.backend.backend() != "jax" or state is None:
        return variable
    for each, value in zip(
        model.optimizer.variables, state["optimizer_variables"], strict=True
    ):
        if each is variable:
            return value
    return variable


def cut_steps(path, last_step):
    """Cuts a file off behind a step, also behind a line that was half written.

    Args:
        path: path. A missing file has no records.
        last_step: int. The last step to keep.

    Returns:
        List of the records that are left.
    """
    path = Path(path)
    if not path.is_file():
        return []
    records = []
    end = 0
    with path.open("rb") as file:
        for line in file:
            record = _parse(line)
            if record is None or record["step"] > last_step:
                break
            records.append(record)
            end += len(line)
    if end < path.stat().st_size:
        os.truncate(path, end)
    return records


def read_steps(path):
    """Returns the whole records of a file, also of a run that is running."""
    with open(path, "rb") as file:
        records = [_parse(line) for line in file]
    return [record for record in records if record is not None]


def _parse(line):
    if not line.endswith(b"\n"):
        return None
    try:
        return json.loads(line)
    except ValueError:  # neither JSON nor UTF-8
        return None
