import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_roofline import bytes_per_example
from keras_albert.training.plan_roofline import extrapolate_largest
from keras_albert.training.plan_roofline import memory_of
from keras_albert.training.plan_roofline import roofline

MACHINE = Machine("four", 4, 1e9, 5e6, 1e8, 2e7, "made up")
COSTS = {
    "flops": 5.0,
    "bytes_accessed": 3e6,
    "argument_bytes": 400_000,
    "output_bytes": 10,
    "temporary_bytes": 1_000_000,
    "code_bytes": 90,
    "collectives": {"all-reduce": {"count": 2, "bytes": 400_000}},
}


@pytest.fixture
def shape(tiny_config):
    arguments = {**tiny_config, "vocabulary_size": 50}
    return StepShape(arguments, 3, 16, 3)


def test_memory_is_the_sum_of_its_parts():
    assert memory_of(COSTS) == {
        "state": 400_010,
        "temporary": 1_000_000,
        "code": 90,
        "total": 1_400_100,
    }


def test_each_limit_has_its_time(shape):
    seconds = roofline(MACHINE, shape, COSTS)

    # The formula's operations: the compiler saw only five.
    assert seconds == {
        "arithmetic": step_flops(shape) / 1e9,
        "memory": pytest.approx(0.03),
        # Around a ring of four, 3/4 of it passes twice.
        "network": pytest.approx(1.5 * 400_000 / 2e7),
    }
    more = roofline(MACHINE, shape, {**COSTS, "flops": 2e9})
    assert more["arithmetic"] == 2.0


def test_what_grows_with_the_batch_decides_how_many_fit(shape):
    gradients = 4 * num_parameters(shape.arguments)
    growing = 1_000_000 - gradients
    fixed = 400_100 + gradients

    assert bytes_per_example(shape, COSTS) == growing / 3
    largest = int((5e6 - fixed) // (growing / 3))
    assert extrapolate_largest(MACHINE, shape, COSTS) == largest
