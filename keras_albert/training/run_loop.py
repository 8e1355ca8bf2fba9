"""The loop of a run: `fit` per phase and interval, from the last state on."""

import dataclasses
import functools

from keras_albert.data.whole_files import replace_atomically
from keras_albert.training import callbacks as run_callbacks
from keras_albert.training.curves import plot_curves
from keras_albert.training.curves import read_history
from keras_albert.training.curves import write_history
from keras_albert.training.depth import set_active_layers
from keras_albert.training.watchdog import Watchdog
from keras_albert.training.watchdog import read_alarms
from keras_albert.training.watchdog import write_alarms


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """What a run has seen.

    Attributes:
        start_step: int. The step this call starts at; 0 for a new run.
        history: list of records, one per evaluation.
        alarms: list of `watchdog.Alarm`.
    """

    start_step: int
    history: list
    alarms: list


def restore_run(model, folder):
    """Brings a model to the last state in a run's folder.

    Args:
        model: compiled `AlbertPretrainer`.
        folder: `RunFolder`.

    Returns:
        `RunRecord`, up to that state.
    """
    step, checkpoint = run_callbacks.last_checkpoint(folder.checkpoints)
    if checkpoint is not None:
        run_callbacks.restore_checkpoint(model, checkpoint)
    return RunRecord(
        start_step=step,
        history=_history_until(folder.history, step),
        alarms=read_alarms(folder.alarms, step),
    )


def train(model, settings, data, evaluation, callbacks, start_step):
    """Fits every phase from a step on.

    Args:
        model: compiled `AlbertPretrainer`, at the state of `start_step`.
        settings: `RunSettings`.
        data: `RunData`.
        evaluation: `RunEvaluation`.
        callbacks: list of Keras callbacks.
        start_step: int.
    """
    try:
        for span, held_out in zip(
            settings.spans, evaluation.datasets, strict=True
        ):
            set_active_layers(
                model, span.num_layers or model.backbone.num_layers
            )
            _fit(
                model,
                functools.partial(data.batches, span),
                held_out,
                callbacks,
                intervals(
                    max(start_step, span.start),
                    span.stop,
                    settings.evaluation_every,
                ),
            )
    finally:
        for callback in callbacks:
            if isinstance(callback, run_callbacks.StopOnInterrupt):
                callback.release()


def make_callbacks(model, settings, evaluation, folder, record, progress=None):
    """Returns the callbacks that watch, record, save and show a run.

    Args:
        model: compiled `AlbertPretrainer`.
        settings: `RunSettings`.
        evaluation: `RunEvaluation`.
        folder: `RunFolder`.
        record: `RunRecord`. Grows with the run.
        progress: `rich.progress.Progress`, optional.
    """
    start_step = record.start_step

    def show(history):
        write_history(history, folder.history)
        write_history(history, folder.history_table)
        plot_curves(history, folder.curves, evaluation.masked_lm_floor)

    checkpoints = run_callbacks.Checkpoints(
        folder.checkpoints,
        record.history,
        settings.checkpoint_every,
        start_step=start_step,
    )
    made = [
        _make_watchdog(model, settings, evaluation, folder, record, progress),
        run_callbacks.HistoryRecorder(record.history, show, start_step),
        checkpoints,
        run_callbacks.StopOnInterrupt(checkpoints, start_step),
    ]
    if progress is not None:
        made.insert(
            1,
            run_callbacks.ProgressBar(
                progress,
                settings.steps,
                "pretraining",
                start_step,
                _describe_logs,
            ),
        )
    return made


def _make_watchdog(model, settings, evaluation, folder, record, progress):
    def on_alarm(alarm):
        write_alarms(record.alarms, folder.alarms)
        if progress is not None:
            progress.console.print(
                f"Step {alarm.step}: {alarm.message}", style="yellow"
            )

    return Watchdog(
        record.alarms,
        vocabulary_size=settings.backbone["vocabulary_size"],
        masked_lm_floor=evaluation.masked_lm_floor,
        num_pairs=evaluation.num_pairs,
        steps=settings.steps,
        warmup_steps=model.optimizer._learning_rate.warmup_steps,
        last_checkpoint=lambda: run_callbacks.last_checkpoint(
            folder.checkpoints
        )[1],
        on_alarm=on_alarm,
        start_step=record.start_step,
    )


def save_model(model, folder):
    """Writes the preset of a finished run."""
    with replace_atomically(folder.preset) as temporary:
        model.save_to_preset(str(temporary))


def intervals(start_step, steps, every):
    """Lists `(first step, steps per interval, intervals)` for `fit`.

    Evaluations fall on the multiples of `every` and on the last step, wherever
    a run starts.

    Example:

    >>> intervals(0, 25, 10)
    [(0, 10, 2), (20, 5, 1)]
    >>> intervals(3, 25, 10)
    [(3, 7, 1), (10, 10, 1), (20, 5, 1)]
    """
    spans = []
    step = start_step
    while step < steps:
        if step % every or steps - step < every:
            length, count = min(every - step % every, steps - step), 1
        else:
            length, count = every, (steps - step) // every
        spans.append((step, length, count))
        step += length * count
    return spans


def _history_until(path, step):
    """Returns the records up to `step`; a crash may have left later ones."""
    if not path.is_file():
        return []
    return [r for r in read_history(path) if r["step"] <= step]


def _fit(model, batches_from, evaluation, callbacks, spans):
    for step, length, count in spans:
        model.fit(
            batches_from(step),
            steps_per_epoch=length,
            epochs=count,
            validation_data=evaluation,
            callbacks=callbacks,
            shuffle=False,  # the dataset is
            verbose=0,
        )


def _describe_logs(logs):
    loss = logs.get("masked_lm_loss", float("nan"))
    order = logs.get("sentence_order_accuracy")
    text = f"MLM loss {loss:.2f}"
    return text if order is None else f"{text}, SOP accuracy {order:.0%}"
