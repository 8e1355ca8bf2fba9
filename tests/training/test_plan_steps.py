"""Judged by the same steps compiled on their own, and by the compiler."""

import dataclasses

import keras
import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_search import MAX_COMPILATIONS
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
    usual = {"config": CONFIG, "batch_size": 4, "steps": 10, "unroll": False}
    return planned_settings(**{**usual, **changes})


@pytest.fixture(scope="module")
def compilations():
    """Lists the examples, tokens and layers of what was compiled."""
    return []


@pytest.fixture(scope="module")
def run():
    return planned(phases="16@1:30%,32x2:30%,16x2@1:20%,16@1:10%,16:10%")


@pytest.fixture(scope="module")
def cores(run):
    """Of four phases: the last has the shape of the first."""
    return core_shapes(run, 1)[:4]


@pytest.fixture(scope="module")
def steps(run, cores, compilations):
    import jax

    from keras_albert.training import plan_steps

    real = plan_steps.compiled_costs

    def counted(model, batch, devices):
        shape = batch[0]["token_ids"].shape
        compilations.append((*shape, model.backbone.encoder.active_layers))
        return real(model, batch, devices)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_steps, "compiled_costs", counted)
        yield plan_steps.PlannedSteps(run, MACHINE, jax.devices()[:1], cores)


@pytest.fixture(scope="module")
def replies(steps, cores):
    return [steps.reply(core, search=False) for core in cores]


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


def test_a_phase_costs_what_it_costs_alone(replies):
    shallow, looped = (reply["costs"] for reply in replies[:2])

    assert without_times(shallow) == alone(16, 4, 1)
    expected = alone(32, 2, 3)
    # Of a loop, the compiler counts one round.
    assert looped["flops"] > 1.3 * expected["flops"]
    counted = ("flops", "bytes_accessed")
    assert all(looped[k] == v for k, v in expected.items() if k not in counted)


def test_all_rounds_of_a_loop_are_counted(replies, run):
    flops = replies[1]["costs"]["flops"]

    shape = StepShape(run.backbone, 2, 32, num_predictions=5)
    assert 0.8 * flops < step_flops(shape) <= flops


def test_calls_of_different_layers_make_no_loop():
    import jax

    from keras_albert.training.plan_steps import PlannedSteps

    # The feed-forward blocks of all calls differ.
    config = {
        **CONFIG,
        "num_layers": 4,
        "num_groups": 2,
        "sharing": "attention",
    }
    core = CoreShape(16, 4, 4)
    steps = PlannedSteps(
        planned(config=config, sequence_length=16),
        MACHINE,
        jax.devices()[:1],
        [core],
    )

    assert steps._whole_loop(core) == {}


def test_equal_shapes_are_compiled_once(replies, compilations):
    assert compilations == [
        (4, 16, 1),
        # One with a loop, and two that say what a layer adds.
        (2, 32, 3),
        (2, 32, 1),
        (2, 32, 2),
        (2, 16, 1),
    ]
    assert replies[0] == replies[3]


def test_the_largest_batch_is_one_that_fits(
    steps, cores, replies, compilations
):
    found = [steps.reply(cores[i], search=True) for i in (0, 2)]
    largest = found[0]["largest_batch"]

    def bytes_of(size):
        costs = alone(16, size, 1)
        return sum(v for k, v in costs.items() if k in MEMORY)

    assert largest > 4
    assert bytes_of(largest) <= MACHINE.memory_bytes
    assert bytes_of(round(1.1 * largest)) > MACHINE.memory_bytes
    # Phases that differ in their batches have one search, from the larger.
    assert found[1]["largest_batch"] == largest
    assert len(compilations) <= 5 + MAX_COMPILATIONS
