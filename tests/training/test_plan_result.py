import dataclasses
import json

import pytest

from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_result import StepAnswer
from keras_albert.training.plan_result import make_plan
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_shapes import core_shapes
from keras_albert.training.plan_shapes import step_shape

MACHINE = Machine("four", 4, 1e9, 5e6, 1e8, 2e7, "made up")
COSTS = {
    "flops": 5.0,
    "bytes_accessed": 3e6,
    "argument_bytes": 400_000,
    "output_bytes": 10,
    "temporary_bytes": 1_000_000,
    "code_bytes": 90,
    "collectives": {"all-reduce": {"count": 2, "bytes": 400_000}},
    "seconds": 7.0,
}


@pytest.fixture
def run(tiny_config):
    return planned_settings(
        config={**tiny_config, "vocabulary_size": 50},
        batch_size=24,
        accumulate=2,
        phases="16@1:75%,32x8:25%",
        steps=100,
    )


@pytest.fixture
def answers(run):
    """Of two phases; the second moves and fills twice as much."""
    first, second = (
        StepAnswer(
            shape=step_shape(run, core, on_tpu=False),
            costs=COSTS,
            is_compiled=True,
        )
        for core in core_shapes(run, 4)
    )
    twice = {**COSTS, "bytes_accessed": 6e6, "temporary_bytes": 2_000_000}
    return [first, dataclasses.replace(second, costs=twice)]


def test_each_phase_has_its_figures(run, answers):
    made = make_plan(run=run, machine=MACHINE, answers=answers)
    first, second = made.phases

    shapes = [
        (p.sequence_length, p.batch_size, p.num_layers, p.steps)
        for p in made.phases
    ]
    assert shapes == [(16, 24, 1, 75), (32, 8, 2, 25)]
    assert [p.batch_per_core for p in made.phases] == [3, 1]
    assert first.limited_by == second.limited_by == "memory"
    # 3e6 of 1e8 bytes a second, in two parts.
    assert first.update_seconds == pytest.approx(0.06)
    assert second.update_seconds == pytest.approx(0.12)
    assert first.memory["total"] == 1_400_100
    assert second.memory["total"] == 2_400_100
    assert (first.method, first.compile_seconds) == ("compiled", 7.0)


def test_the_whole_is_the_sum_of_its_phases(run, answers):
    made = make_plan(
        run=run,
        machine=MACHINE,
        answers=answers,
        num_examples=240,
        price_per_core_hour=9.0,
        efficiency=0.5,
    )
    first, second = made.phases

    # 75 updates of 0.06 s and 25 of 0.12 s, at half the speed.
    assert made.run_seconds == pytest.approx(2 * (75 * 0.06 + 25 * 0.12))
    assert second.run_seconds == pytest.approx(2 * 25 * 0.12)
    # On four cores.
    assert made.run_price == pytest.approx(15 / 3600 * 4 * 9)
    assert first.run_price + second.run_price == pytest.approx(made.run_price)
    # 240 examples are ten updates of the first phase, thirty of the second.
    assert first.epoch_seconds == pytest.approx(10 * 2 * 0.06)
    assert second.epoch_seconds == pytest.approx(30 * 2 * 0.12)
    assert second.epoch_price == pytest.approx(7.2 / 3600 * 4 * 9)
    assert made.num_parameters == num_parameters(run.backbone)


def test_a_run_fits_if_every_phase_does(run, answers):
    made = make_plan(run=run, machine=MACHINE, answers=answers)
    tight = dataclasses.replace(MACHINE, memory_bytes=2e6)
    refused = make_plan(run=run, machine=tight, answers=answers)

    assert made.fits
    assert made.tightest_phase == refused.tightest_phase == 1
    assert not refused.fits
    assert [phase.fits for phase in refused.phases] == [True, False]
    assert refused.phases[1].largest_batch < 8


def test_a_refusal_of_the_compiler_counts(run, answers):
    refused = dataclasses.replace(
        answers[0],
        does_not_fit="used 17 of 15.75 GB",
        is_compiled=False,
        largest_batch=2,
    )
    made = make_plan(run=run, machine=MACHINE, answers=[refused, answers[1]])
    first, second = made.phases

    assert not made.fits
    # Although its estimate is the smaller one.
    assert made.tightest_phase == 0
    assert (first.method, second.method) == ("estimated", "compiled")
    # Two on each of four cores, in two parts.
    assert (first.largest_batch, first.largest_batch_is_compiled) == (16, True)
    assert not second.largest_batch_is_compiled


def test_a_plan_becomes_json(run, answers):
    made = make_plan(run=run, machine=MACHINE, answers=answers)

    read = json.loads(json.dumps(made.to_dict()))
    assert read["machine"]["num_cores"] == 4
    assert read["phases"][1]["memory"]["total"] == 2_400_100
    assert read["settings"]["optimizer.accumulate"] == 2
