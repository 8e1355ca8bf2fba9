"""The callbacks of a run: what watches, records, saves and shows it."""

from collections.abc import Iterable

import keras

from keras_albert.training import callbacks as run_callbacks
from keras_albert.training.averaging import EvaluateAverage
from keras_albert.training.curves import plot_curves
from keras_albert.training.curves import write_history
from keras_albert.training.distribution import Distribution
from keras_albert.training.run_costs import RunCosts
from keras_albert.training.state_files import last_state
from keras_albert.training.step_log import StepLog
from keras_albert.training.step_log import read_steps
from keras_albert.training.tensorboard import TensorBoardLog
from keras_albert.training.watchdog import Alarm
from keras_albert.training.watchdog import Watchdog
from keras_albert.training.watchdog import write_alarms


def make_callbacks(
    settings,
    evaluation,
    folder,
    record,
    progress=None,
    clock=None,
    distribution=None,
    states=None,
):
    """Returns the callbacks of a run, in their order.

    Args:
        settings: `RunSettings`.
        evaluation: `RunEvaluation`.
        folder: `RunFolder`.
        record: `RunRecord`. Grows with the run.
        progress: `rich.progress.Progress`, optional.
        clock: `WaitClock`, optional.
        distribution: `Distribution`. Defaults to one device.
        states: path of the folder where the user finds the run's states.
            Defaults to that of `folder`.
    """
    distribution = distribution or Distribution()
    states = states or folder.checkpoints
    start_step = record.start_step

    def show(history):
        write_history(history, folder.history)
        write_history(history, folder.history_table)
        plot_curves(history, folder.curves, evaluation.masked_lm_floor)

    steps = StepLog(
        folder.steps,
        RunCosts(settings.spans, settings.backbone),
        sentence_order_weight=settings.sentence_order_weight,
        clock=clock,
        start_step=start_step,
    )
    steps.open(record.last_evaluation)
    checkpoints = run_callbacks.Checkpoints(
        folder.checkpoints,
        record.history,
        settings.checkpoint_every,
        start_step=start_step,
        whole_weights=distribution.whole_weights,
        shown_folder=states,
    )
    made = [
        EvaluateAverage(),
        steps,
        _make_watchdog(settings, evaluation, folder, record, progress, states),
        run_callbacks.HistoryRecorder(
            record.history, show, start_step, steps.interval_means
        ),
        checkpoints,
        run_callbacks.StopOnInterrupt(
            checkpoints, start_step, distribution.agree
        ),
    ]
    if settings.tensorboard:
        board = TensorBoardLog(
            folder.tensorboard,
            steps,
            record.history,
            read_steps(folder.steps),
            start_step,
        )
        made.insert(-2, board)
    if progress is not None:
        bar = run_callbacks.ProgressBar(
            progress,
            settings.steps,
            "pretraining",
            start_step,
            lambda _: describe_step(steps.latest),
        )
        made.insert(2, bar)
    return made


def list_callbacks(callbacks):
    """Returns a user's callbacks as a list.

    Args:
        callbacks: iterable of Keras callbacks, or `None` for none.

    Raises:
        TypeError: if it is something else.
    """
    if callbacks is None:
        return []
    is_iterable = isinstance(callbacks, Iterable)
    made = list(callbacks) if is_iterable else []
    if not is_iterable or not all(
        isinstance(each, keras.callbacks.Callback) for each in made
    ):
        raise TypeError(
            "`callbacks` is a list of `keras.callbacks.Callback`. Received: "
            f"callbacks={callbacks!r}."
        )
    return made


def show_recipe(recipe, console):
    """Prints how the figures of a run came about.

    Args:
        recipe: `Recipe`.
        console: `rich.console.Console`.
    """
    for line in recipe.reasons:
        console.print(line, style="dim", highlight=False)
    for line in recipe.warnings:
        console.print(line, style="yellow", highlight=False)


def report_damage(record, folder, progress=None):
    """Raises an alarm if a run goes on from an older state than its last.

    Args:
        record: `RunRecord`. The alarm is added to its own.
        folder: `RunFolder`.
        progress: `rich.progress.Progress`, optional.
    """
    if not record.damaged:
        return
    damaged = ", ".join(map(str, record.damaged))
    what = (
        f"The state {damaged} is damaged: it does"
        if len(record.damaged) == 1
        else f"The states {damaged} are damaged: they do"
    )
    from_where = (
        f"goes on from step {record.start_step}"
        if record.start_step
        else "starts again at step 0"
    )
    alarm = Alarm(
        record.start_step,
        "damaged_state",
        f"{what} not match the .sha256 beside it. The run {from_where}.",
    )
    record.alarms.append(alarm)
    _report_alarm(alarm, record, folder, progress)


def report_shared_text(described, record, folder, progress=None):
    """Raises an alarm, once, if a run is evaluated on what it is trained on.

    Args:
        described: dict. The settings of the run, as its folder keeps them.
        record: `RunRecord`. The alarm is added to its own.
        folder: `RunFolder`.
        progress: `rich.progress.Progress`, optional.
    """
    train, held_out = described["text"] or (None, None)
    is_shared = (
        _shares(described["corpus"], described["evaluation_corpus"])
        or _shares(described["data"], described["evaluation_data"])
        or (train is not None and train == held_out)
    )
    if not is_shared or "shared_text" in {each.kind for each in record.alarms}:
        return
    alarm = Alarm(
        record.start_step,
        "shared_text",
        "The run is evaluated on text that it is trained on, so that its "
        "held-out figures say nothing about new text. Give other text to "
        "evaluate on, or leave it out to hold out a share.",
    )
    record.alarms.append(alarm)
    _report_alarm(alarm, record, folder, progress)


def _shares(names, others):
    return bool({*(names or ())} & {*(others or ())})


def describe_step(record):
    """Returns a short text about a record of `StepLog`, for a progress bar.

    Example:

    >>> describe_step({"masked_lm_loss": 2.345, "tokens_per_second": 5120.4})
    'MLM loss 2.35, 5,120 tokens/s'
    """
    parts = [f"MLM loss {record.get('masked_lm_loss', float('nan')):.2f}"]
    if "sentence_order_accuracy" in record:
        parts.append(f"SOP accuracy {record['sentence_order_accuracy']:.0%}")
    parts.append(f"{record.get('tokens_per_second', 0.0):,.0f} tokens/s")
    return ", ".join(parts)


def _make_watchdog(settings, evaluation, folder, record, progress, states):
    def on_alarm(alarm):
        _report_alarm(alarm, record, folder, progress)

    return Watchdog(
        record.alarms,
        vocabulary_size=settings.backbone["vocabulary_size"],
        masked_lm_floor=evaluation.masked_lm_floor,
        num_pairs=evaluation.num_pairs,
        steps=settings.steps,
        warmup_steps=settings.recipe.warmup_steps,
        last_checkpoint=lambda: last_state(states)[1],
        on_alarm=on_alarm,
        start_step=record.start_step,
    )


def _report_alarm(alarm, record, folder, progress):
    write_alarms(record.alarms, folder.alarms)
    if progress is not None:
        progress.console.print(
            f"Step {alarm.step}: {alarm.message}", style="yellow"
        )
