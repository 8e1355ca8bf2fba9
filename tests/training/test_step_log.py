import itertools
import json
import types

import keras
import numpy as np
import pytest

from keras_albert.training.run_optimizers import RunAdamW
from keras_albert.training.schedules import WarmupPolynomialDecay
from keras_albert.training.step_log import StepLog
from keras_albert.training.step_log import cut_steps
from keras_albert.training.step_log import read_steps
from keras_albert.training.step_metrics import StepValue


@pytest.fixture
def costs():
    """Every step is 100 tokens and 1000 operations, of 10 steps."""
    return types.SimpleNamespace(
        tokens=lambda step: 100,
        flops=lambda step: 1000,
        flops_left=lambda step: 1000 * (10 - step),
    )


def write_lines(path, steps, end=""):
    path.write_text(
        "".join(json.dumps({"step": s, "loss": s / 2}) + "\n" for s in steps)
        + end
    )


def test_steps_behind_the_state_are_cut_off(tmp_path):
    path = tmp_path / "steps.jsonl"
    write_lines(path, [1, 2, 3, 4])

    kept = cut_steps(path, 2)

    assert [record["step"] for record in kept] == [1, 2]
    assert read_steps(path) == kept


@pytest.mark.parametrize("half", ['{"step": 3, "lo', "\x00\x00\n"])
def test_a_line_that_was_half_written_is_cut_off(tmp_path, half):
    path = tmp_path / "steps.jsonl"
    write_lines(path, [1, 2], end=half)

    assert len(cut_steps(path, 9)) == 2
    assert path.read_text().endswith('"loss": 1.0}\n')
    assert cut_steps(tmp_path / "none", 9) == []


@pytest.fixture
def run(costs):
    """Fits a model whose error is the input, in updates of two batches."""

    def call(log, values, epochs=1):
        model = keras.Sequential(
            [keras.Input((1,)), keras.layers.Dense(1, use_bias=False)]
        )
        error = StepValue(
            keras.metrics.mean_absolute_error, "masked_lm_step_loss"
        )
        schedule = WarmupPolynomialDecay(1e-9, 2, 10, accumulation_steps=2)
        model.compile(
            RunAdamW(schedule, gradient_accumulation_steps=2),
            loss="mae",
            weighted_metrics=[error],
            jit_compile=False,
        )
        model.layers[0].kernel.assign([[0.0]])
        model.optimizer.build(model.trainable_variables)
        model.optimizer._iterations.assign(2 * log.step)
        x = np.array(values, "float32")[:, None]
        model.fit(
            np.concatenate([x] * epochs),
            np.concatenate([x] * epochs),
            batch_size=1,
            shuffle=False,
            steps_per_epoch=len(values),
            epochs=epochs,
            verbose=0,
            callbacks=[log],
        )

    return call


@pytest.mark.every_backend
def test_a_record_for_each_update(tmp_path, costs, run):
    path = tmp_path / "steps.jsonl"
    write_lines(path, [1, 2, 3])
    log = StepLog(path, costs, start_step=2)
    log.open(interval_start=1)

    run(log, [1.0, 3.0, 5.0, 7.0])
    log.close()

    records = read_steps(path)
    assert [r["step"] for r in records] == [1, 2, 3, 4]
    assert [r["masked_lm_loss"] for r in records[2:]] == [2.0, 6.0]
    assert records[3]["loss"] == 6.0
    # Each batch's gradient is minus its input: of two batches, their mean.
    assert [r["gradient_norm"] for r in records[2:]] == [2.0, 6.0]
    # The third update of two warm-up steps: the peak, then an eighth less.
    rates = [r["learning_rate"] for r in records[2:]]
    np.testing.assert_allclose(rates, [1e-9, 1e-9 * 7 / 8], rtol=1e-5)
    assert log.interval_means() == {"loss": (1.0 + 2.0 + 6.0) / 3}


def test_speed_and_time_left(tmp_path, costs, run, monkeypatch):
    seconds = itertools.count()  # that pass between two looks at the clock
    time = types.SimpleNamespace(monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr("keras_albert.training.step_log.time", time)
    clock = types.SimpleNamespace(seconds=0.0)
    log = StepLog(tmp_path / "steps.jsonl", costs, clock=clock)
    log.open(0)
    run(log, [1.0] * 8)

    last = log.latest
    assert last["data_wait_share"] == 0.0
    # Of the 10 steps of 1000 operations, 4 are done, each in a second.
    assert last["seconds"] == 4.0
    assert last["tokens_per_second"] == 100
    assert last["flops_per_second"] == 1000
    assert last["seconds_left"] == 6.0


def test_means_start_anew_with_an_interval(tmp_path, costs, run):
    log = StepLog(tmp_path / "steps.jsonl", costs)
    log.open(0)
    run(log, [1.0, 1.0, 3.0, 3.0], epochs=2)

    assert log.step == 4
    assert log.interval_means()["masked_lm_loss"] == 2.0
