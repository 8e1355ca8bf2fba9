import pytest

from keras_albert.models.sizes import backbone_arguments
from keras_albert.models.sizes import flops_per_token
from keras_albert.training.phases import parse_phases
from keras_albert.training.phases import phase_spans
from keras_albert.training.run_costs import RunCosts


@pytest.fixture
def costs():
    phases = parse_phases("128@6:60%,512x8:40%")
    arguments = backbone_arguments("albert_base")
    return RunCosts(phase_spans(phases, 10, 32), arguments)


def test_steps_cost_what_their_phase_does(costs):
    assert costs.tokens(0) == costs.tokens(5) == 32 * 128
    assert costs.tokens(6) == costs.tokens(10) == 8 * 512
    # Nearly all of it is three times the encoder's forward pass.
    arguments = backbone_arguments("albert_base")
    encoder = 3 * flops_per_token(**arguments, sequence_length=512) * 8 * 512
    assert 1.0 < costs.flops(6) / encoder < 1.1
    assert costs.flops(6) > 1.9 * costs.flops(0)


def test_what_is_left_falls_to_nothing(costs):
    assert costs.flops_left(0) == 6 * costs.flops(0) + 4 * costs.flops(6)
    assert costs.flops_left(8) == 2 * costs.flops(6)
    assert costs.flops_left(10) == 0


def test_batches_in_turn_cost_what_they_have():
    phases = parse_phases("128+512x8:100%")
    arguments = backbone_arguments("albert_base")
    costs = RunCosts(phase_spans(phases, 5, 32), arguments)

    assert [costs.tokens(step) for step in range(3)] == [4096, 4096, 4096]
    assert costs.flops(0) == costs.flops(2) < costs.flops(1)
    assert costs.flops_left(1) == 2 * costs.flops(1) + 2 * costs.flops(2)
    assert costs.flops_left(5) == 0
