import json

import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_result import make_plan
from keras_albert.training.plan_settings import planned_settings

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
        sequence_length=16,
        steps=100,
    )


@pytest.fixture
def shape(run):
    return StepShape(run.backbone, 3, 16, 3)


def test_the_slowest_of_three_limits_sets_the_pace(run, shape):
    made = make_plan(run=run, machine=MACHINE, shape=shape, costs=COSTS)

    # The formula's operations: the compiler saw only five.
    assert made.seconds == {
        "arithmetic": step_flops(shape) / 1e9,
        "memory": pytest.approx(0.03),
        # Around a ring of four, 3/4 of it passes twice.
        "network": pytest.approx(1.5 * 400_000 / 2e7),
    }
    assert made.limited_by == "memory"
    # Two parts an update.
    assert made.update_seconds == pytest.approx(0.06)
    assert made.run_seconds == pytest.approx(6.0)
    assert made.method == "compiled"
    assert made.compile_seconds == 7.0


def test_time_and_price_of_an_epoch(run, shape):
    made = make_plan(
        run=run,
        machine=MACHINE,
        shape=shape,
        costs=COSTS,
        num_examples=240,
        price_per_core_hour=9.0,
        efficiency=0.5,
    )

    # Ten updates of 0.06 s, at half the speed, on four cores.
    assert made.epoch_seconds == pytest.approx(1.2)
    assert made.epoch_price == pytest.approx(1.2 / 3600 * 4 * 9)
    assert made.run_price == pytest.approx(12 / 3600 * 4 * 9)


def test_memory_decides_what_fits(run, shape):
    made = make_plan(run=run, machine=MACHINE, shape=shape, costs=COSTS)
    gradients = 4 * num_parameters(run.backbone)
    growing = 1_000_000 - gradients
    fixed = 400_100 + gradients

    assert made.memory["total"] == 1_400_100
    assert made.fits
    per_core = int((5e6 - fixed) // (growing / 3))
    assert made.largest_batch == per_core * 4 * 2
    assert not made.largest_batch_is_compiled

    tight = Machine("four", 4, 1e9, 1.3e6, 1e8, 2e7, "made up")
    refused = make_plan(run=run, machine=tight, shape=shape, costs=COSTS)
    assert not refused.fits
    assert refused.largest_batch < made.batch_size


def test_a_refusal_of_the_compiler_counts(run, shape):
    made = make_plan(
        run=run,
        machine=MACHINE,
        shape=shape,
        costs=COSTS,
        does_not_fit="used 17 of 15.75 GB",
        compiled_largest=2,
    )

    assert not made.fits
    assert made.method == "estimated"
    assert (made.largest_batch, made.largest_batch_is_compiled) == (16, True)


def test_a_plan_becomes_json(run, shape):
    made = make_plan(run=run, machine=MACHINE, shape=shape, costs=COSTS)

    read = json.loads(json.dumps(made.to_dict()))
    assert read["machine"]["num_cores"] == 4
    assert read["memory"]["total"] == 1_400_100
