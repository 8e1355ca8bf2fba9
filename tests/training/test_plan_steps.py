"""Judged by the same steps compiled on their own, and by the compiler."""

import dataclasses

import keras
import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_shapes import CoreShape
from keras_albert.training.plan_shapes import core_shapes

pytestmark = pytest.mark.every_backend

CONFIG = {
    "num_layers": 3,
    "num_heads": 2,
    "embedding_dim": 32,
    "hidden_dim": 64,
    "intermediate_dim": 128,
    "max_sequence_length": 32,
    "vocabulary_size": 200,
}
MEMORY = ("argument_bytes", "output_bytes", "temporary_bytes", "code_bytes")
MACHINE = Machine("small", 1, 1e9, 3e6, 1e9, 0.0, "made up")


@pytest.fixture(scope="module", autouse=True)
def _jax():
    if keras.backend.backend() != "jax":
        pytest.skip("plans are compiled by JAX")


def planned(**changes):
    return planned_settings(
        **{"config": CONFIG, "batch_size": 4, "steps": 10, **changes}
    )


def made(run, cores):
    import jax

    from keras_albert.training.plan_steps import PlannedSteps

    return PlannedSteps(run, MACHINE, jax.devices()[:1], cores)


@pytest.fixture(scope="module")
def compilations():
    """Counts what is compiled while it is counted."""
    return []


@pytest.fixture(scope="module")
def phases(compilations):
    """The replies of three phases, the first and the last of one shape."""
    from keras_albert.training import plan_steps

    run = planned(phases="16@1:30%,32x2:30%,16@1:20%,16@3:20%")
    cores = core_shapes(run, 1)[:3]
    real = plan_steps.compiled_costs

    def counted(model, batch, devices):
        compilations.append(batch[0]["token_ids"].shape)
        return real(model, batch, devices)

    plan_steps.compiled_costs = counted
    try:
        steps = made(run, cores)
        return [steps.reply(core, search=False) for core in cores]
    finally:
        plan_steps.compiled_costs = real


def alone(sequence_length, batch_size, num_layers):
    """The costs of a model that has no other depth, times left out."""
    import jax

    from keras_albert.training.plan_compile import batch_shapes
    from keras_albert.training.plan_compile import compile_step
    from keras_albert.training.plan_compile import read_costs
    from keras_albert.training.run_model import make_run_model

    run = planned(
        config={**CONFIG, "num_layers": num_layers},
        sequence_length=sequence_length,
    )
    program = compile_step(
        make_run_model(run, tokenizer=None),
        batch_shapes(batch_size, sequence_length),
        jax.devices()[:1],
    )
    return without_times(dataclasses.asdict(read_costs(program)))


def without_times(costs):
    return {k: v for k, v in costs.items() if not k.endswith("seconds")}


def test_a_phase_costs_what_it_costs_alone(phases):
    assert without_times(phases[0]["costs"]) == alone(16, 4, 1)
    assert without_times(phases[1]["costs"]) == alone(32, 2, 3)


def test_equal_shapes_are_compiled_once(phases, compilations):
    assert compilations == [(4, 16), (2, 32)]
    assert phases[0] == phases[2]


def test_all_rounds_of_a_loop_are_counted():
    run = planned(
        config={**CONFIG, "num_layers": 6}, sequence_length=32, unroll=False
    )
    core = CoreShape(32, 4, 6)

    costs = made(run, [core]).reply(core, search=False)["costs"]

    # The body alone would be a sixth.
    shape = StepShape(run.backbone, 4, 32, num_predictions=5)
    assert 0.8 * costs["flops"] < step_flops(shape) <= costs["flops"]


def test_the_largest_batch_is_one_that_fits():
    core = CoreShape(16, 4, 1)
    smaller = dataclasses.replace(core, batch_size=2)
    run = planned(phases="16@1:50%,16:50%")
    steps = made(run, [core, smaller])

    largest = steps.reply(core, search=True)["largest_batch"]

    def bytes_of(size):
        costs = alone(16, size, 1)
        return sum(v for k, v in costs.items() if k in MEMORY)

    assert largest > 4
    assert bytes_of(largest) <= MACHINE.memory_bytes
    assert bytes_of(round(1.1 * largest)) > MACHINE.memory_bytes
    # What phases differ in is where the search began, not what it found.
    assert steps._largest_batch(smaller) == largest
