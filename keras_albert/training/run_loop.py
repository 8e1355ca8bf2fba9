"""The loop of a run: `fit` per phase and interval, from the last state on."""

import dataclasses
import functools

import keras

from keras_albert.data.whole_files import remove_leftovers
from keras_albert.data.whole_files import replace_atomically
from keras_albert.training.averaging import averaged_weights
from keras_albert.training.depth import set_active_layers
from keras_albert.training.distribution import Distribution
from keras_albert.training.micro_batches import split_batches
from keras_albert.training.phases import side_by_side
from keras_albert.training.state_files import find_state
from keras_albert.training.state_files import restore_state
from keras_albert.training.state_files import tidy_states
from keras_albert.training.step_log import read_steps
from keras_albert.training.watchdog import read_alarms


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """What a run has seen.

    Attributes:
        start_step: int. The step this call starts at; 0 for a new run.
        history: list of records, one per evaluation.
        alarms: list of `watchdog.Alarm`.
        damaged: list of paths. Newer states that are not whole.
    """

    start_step: int
    history: list
    alarms: list
    damaged: list = dataclasses.field(default_factory=list)

    @property
    def last_evaluation(self):
        """The step of the last evaluation, or 0."""
        return self.history[-1]["step"] if self.history else 0


def restore_run(model, folder, tidies=True):
    """Brings a model to the last state in a run's folder.

    Args:
        model: compiled `AlbertPretrainer`.
        folder: `RunFolder`.
        tidies: bool. Whether to remove what a killed process left. Defaults
            to `True`.

    Returns:
        `RunRecord`, up to that state.
    """
    if tidies:
        remove_leftovers(folder.path)
        tidy_states(folder.checkpoints)
    step, state, damaged = find_state(folder.checkpoints)
    if state is not None:
        restore_state(model, state)
    return RunRecord(
        start_step=step,
        history=_history_until(folder.history, step),
        alarms=read_alarms(folder.alarms, step),
        damaged=damaged,
    )


def train(
    model,
    settings,
    data,
    evaluation,
    callbacks,
    record,
    clock=None,
    distribution=None,
):
    """Fits every phase from the step of a record on.

    Args:
        model: compiled `AlbertPretrainer`, at the state of the record.
        settings: `RunSettings`.
        data: `RunData`.
        evaluation: `RunEvaluation`.
        callbacks: list of Keras callbacks. Those with a `close` are closed.
        record: `RunRecord`.
        clock: `WaitClock`, optional.
        distribution: `Distribution`. Defaults to one device.
    """
    distribution = distribution or Distribution()
    batches = functools.partial(
        _batches, data, settings.accumulate, clock, distribution
    )
    start_step = record.start_step
    try:
        for turns in side_by_side(settings.spans):
            span = turns[-1]
            held_out = evaluation.datasets[span.index]
            if settings.accumulate > 1:
                # One part, for the losses of parts need divided weights.
                held_out = split_batches(held_out, 1)
            held_out = distribution.own_rows(untuned(held_out))
            set_active_layers(
                model, span.num_layers or model.backbone.num_layers
            )
            if _lacks_evaluation(record, span, settings.evaluation_every):
                _evaluate(model, held_out, callbacks)
            _fit(
                model,
                functools.partial(batches, turns),
                held_out,
                callbacks,
                intervals(
                    max(start_step, span.start),
                    span.stop,
                    settings.evaluation_every,
                ),
                settings.accumulate,
            )
    finally:
        for callback in callbacks:
            if hasattr(callback, "close"):
                callback.close()


def save_model(model, folder, distribution=None):
    """Writes the preset of a finished run, of the average if there is one.

    Args:
        model: `AlbertPretrainer`.
        folder: `RunFolder`.
        distribution: `Distribution`, whose processes all make this call.
            Defaults to one device.
    """
    distribution = distribution or Distribution()
    # The average may be split like the weights it takes the place of.
    with (
        averaged_weights(model),
        distribution.whole_weights(model),
        replace_atomically(folder.preset) as temporary,
    ):
        model.save_to_preset(str(temporary))


def untuned(dataset):
    """Returns a dataset that ends at once.

    TensorFlow 2.21's tuning, told to end, may sleep on for up to a minute, and
    `fit` waits for it; of several processes, all do.

    Args:
        dataset: `tf.data.Dataset`, whose parallel calls are counted.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


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
    return [r for r in read_steps(path) if r["step"] <= step]


def _batches(data, parts, clock, distribution, turns, step):
    if len(turns) == 1:
        return _batches_of_span(
            data, parts, clock, distribution, turns[0], step
        )
    made = [
        _batches_of_span(data, parts, None, distribution, span, step)
        for span in turns
    ]
    dataset = untuned(take_turns(made, step - turns[0].start, parts))
    return dataset if clock is None else clock.watch(dataset)


def take_turns(datasets, step, parts=1):
    """Returns a dataset of batches of each dataset in turn.

    Args:
        datasets: list of endless `tf.data.Dataset`.
        step: int. Steps taken before; says whose turn it is.
        parts: int. Batches that make one step. Defaults to `1`.
    """
    import tensorflow as tf

    first, number = step * parts, len(datasets)
    whose = tf.data.Dataset.counter(first).map(lambda i: i // parts % number)
    return tf.data.Dataset.choose_from_datasets(datasets, whose)


def _batches_of_span(data, parts, clock, distribution, span, step):
    if parts == 1:
        dataset = untuned(
            data.batches(
                span, step, distribution.worker_index, distribution.num_workers
            )
        )
        return dataset if clock is None else clock.watch(dataset)
    # Whole batches: their weights are divided by the sum over all workers.
    dataset = untuned(data.batches(span, step))
    if clock is not None:
        dataset = clock.watch(dataset)
    return distribution.own_rows(split_batches(dataset, parts))


def _lacks_evaluation(record, span, every):
    """Whether a run was stopped between a step and its evaluation."""
    step = record.start_step
    is_due = step % every == 0 or step == span.stop
    is_inside = span.start < step <= span.stop
    return is_due and is_inside and record.last_evaluation < step


def _evaluate(model, held_out, callbacks):
    """Makes up for an evaluation: what `fit` does at the end of an interval."""
    called = keras.callbacks.CallbackList(callbacks, model=model)
    values = model.evaluate(
        held_out, callbacks=called, return_dict=True, verbose=0
    )
    called.on_epoch_end(0, {f"val_{k}": v for k, v in values.items()})


def _fit(model, batches_from, evaluation, callbacks, spans, parts):
    for step, length, count in spans:
        model.fit(
            batches_from(step),
            steps_per_epoch=length * parts,
            epochs=count,
            validation_data=evaluation,
            callbacks=callbacks,
            shuffle=False,  # the dataset is
            verbose=0,
        )
