"""Watches a pretraining run and says in one sentence what to do.

    every step        loss ─┬─ not finite ────────── stop, name the good state
                            ├─ stays at ln(V) ────── alarm
                            └─ jumps ─────────────── alarm
    every evaluation  ──────┬─ knows frequencies only ─ alarm
                            └─ sentence order at chance ─ alarm

An alarm does not stop the run: it is kept, shown and left to the user. Each
kind is raised once, a jump once per jump.

Reference:
    The failures are those that users of ALBERT's code report most: a loss that
    stays near ln(V), an order head at one half, a sudden collapse.
"""

import collections
import dataclasses
import json
import math
import statistics

from keras_albert.data.whole_files import write_atomically
from keras_albert.training.callbacks import StepCallback
from keras_albert.training.callbacks import TrainingDiverged
from keras_albert.training.step_log import read_steps
from keras_albert.training.step_metrics import step_values

RECENT_STEPS = 10
MEMORY_STEPS = 100
JUMP_NATS = 0.5
LOG_VOCABULARY_MARGIN = 0.1
FLOOR_MARGIN = 0.05
# A model that has seen less is not expected to know more than frequencies.
EARLIEST_STEP = 1000
EARLIEST_SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class Alarm:
    """Something a person should look at.

    Attributes:
        step: int. Steps done.
        kind: string. `"log_vocabulary"`, `"frequencies_only"`,
            `"order_at_chance"`, `"jump"` or, of `run_reports`,
            `"damaged_state"` or `"shared_text"`.
        message: string. What was seen, and what to do.
    """

    step: int
    kind: str
    message: str


class Watchdog(StepCallback):
    """Keeps the alarms of a run; put it in front of `Checkpoints`.

    Args:
        alarms: list. Alarms are appended to it.
        vocabulary_size: int. V.
        masked_lm_floor: float. Nats of guessing by token frequency.
        num_pairs: int. Held-out pairs with a sentence order; 0 for none.
        steps: int. Steps of the whole run.
        warmup_steps: int.
        last_checkpoint: function that returns the path of the last state or
            `None`.
        on_alarm: function called with each alarm, optional.
        start_step: int. Defaults to 0.
    """

    def __init__(
        self,
        alarms,
        *,
        vocabulary_size,
        masked_lm_floor,
        num_pairs,
        steps,
        warmup_steps,
        last_checkpoint,
        on_alarm=None,
        start_step=0,
    ):
        super().__init__(start_step)
        self.alarms = alarms
        self.vocabulary_size = vocabulary_size
        self.masked_lm_floor = masked_lm_floor
        self.num_pairs = num_pairs
        self.steps = steps
        self.warmup_steps = warmup_steps
        self.last_checkpoint = last_checkpoint
        self.on_alarm = on_alarm
        self._memory = collections.deque(maxlen=MEMORY_STEPS + RECENT_STEPS)
        self._has_jumped = False

    def on_train_batch_end(self, batch, logs=None):
        """Stops where a loss is no number."""
        if not all(math.isfinite(float(v)) for v in (logs or {}).values()):
            raise TrainingDiverged(
                "The loss is not a finite number",
                self.step + 1,
                self.last_checkpoint(),
            )
        super().on_train_batch_end(batch, logs)

    def on_step_end(self, logs):
        """Looks at the loss of the step."""
        loss = step_values(logs).get("masked_lm_loss")
        if loss is None:
            return
        self._memory.append(loss)
        self._look_for_jump()
        if self.step >= self.warmup_steps + MEMORY_STEPS:
            self._look_at_log_vocabulary()

    def on_epoch_end(self, epoch, logs=None):
        """Looks at the evaluation."""
        logs = logs or {}
        if self.step < max(EARLIEST_STEP, EARLIEST_SHARE * self.steps):
            return
        if "val_masked_lm_loss" in logs:
            self._look_at_floor(float(logs["val_masked_lm_loss"]))
        if self.num_pairs and "val_sentence_order_accuracy" in logs:
            self._look_at_order(float(logs["val_sentence_order_accuracy"]))

    def _look_for_jump(self):
        before, recent = split_memory(self._memory)
        if len(before) < MEMORY_STEPS:
            return
        usual = statistics.median(before)
        height = statistics.fmean(recent) - usual
        if height < JUMP_NATS:
            self._has_jumped = False
        elif not self._has_jumped:
            self._has_jumped = True
            self._raise(
                "jump",
                f"The masked-LM loss rose by {height:.1f} nats within "
                f"{RECENT_STEPS} steps. If it does not come back, go on from "
                f"{self.last_checkpoint() or 'the start'} with half the "
                "learning rate.",
            )

    def _look_at_log_vocabulary(self):
        uniform = math.log(self.vocabulary_size)
        loss = statistics.fmean(self._memory)
        if loss > uniform - LOG_VOCABULARY_MARGIN:
            self._raise_once(
                "log_vocabulary",
                f"The masked-LM loss is {loss:.2f}, still that of guessing "
                f"among all {self.vocabulary_size} tokens (ln V = "
                f"{uniform:.2f}). Check that the learning rate is above zero "
                "and that the data was made with this tokenizer.",
            )

    def _look_at_floor(self, loss):
        if loss > self.masked_lm_floor - FLOOR_MARGIN:
            self._raise_once(
                "frequencies_only",
                f"The held-out masked-LM loss is {loss:.2f}, no better than "
                f"guessing by token frequency ({self.masked_lm_floor:.2f}). "
                "Halve the learning rate or double the warm-up.",
            )

    def _look_at_order(self, accuracy):
        noise = 0.5 / math.sqrt(self.num_pairs)
        if accuracy < 0.5 + 2 * noise:
            self._raise_once(
                "order_at_chance",
                f"Sentence order is right in {accuracy:.1%} of "
                f"{self.num_pairs} held-out pairs, which is chance. Order is "
                "learnt after words: train longer, or on short and long "
                "sequences in turn (--phases 96x32+512x6:100%).",
            )

    def _raise_once(self, kind, message):
        if kind not in {alarm.kind for alarm in self.alarms}:
            self._raise(kind, message)

    def _raise(self, kind, message):
        alarm = Alarm(self.step, kind, message)
        self.alarms.append(alarm)
        if self.on_alarm is not None:
            self.on_alarm(alarm)


def write_alarms(alarms, path):
    """Writes alarms as JSON lines."""
    rows = [json.dumps(dataclasses.asdict(alarm)) + "\n" for alarm in alarms]
    write_atomically(path, "".join(rows))


def read_alarms(path, step):
    """Returns the alarms in a file up to `step`, oldest first."""
    if not path.is_file():
        return []
    return [Alarm(**row) for row in read_steps(path) if row["step"] <= step]


def split_memory(memory):
    """Returns the losses `(before, recent)`, each a list.

    >>> before, recent = split_memory(range(25))
    >>> len(before), recent[0]
    (15, 15)
    """
    values = list(memory)
    return values[:-RECENT_STEPS], values[-RECENT_STEPS:]
