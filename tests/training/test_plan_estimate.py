import pytest

from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import estimate_costs
from keras_albert.training.plan_estimate import largest_batch
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import optimizer_slots
from keras_albert.training.plan_estimate import state_bytes
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_estimate import temporary_bytes
from keras_albert.training.plan_estimate import traffic_bytes
from keras_albert.training.plan_estimate import useful_flops

TINY = {
    "vocabulary_size": 50,
    "num_layers": 4,
    "num_heads": 2,
    "embedding_dim": 8,
    "hidden_dim": 16,
    "intermediate_dim": 24,
    "max_sequence_length": 32,
}
BASE = {**backbone_arguments("albert_base"), "dtype": "mixed_bfloat16"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sharing": "none"},
        {"sharing": "attention"},
        {"num_groups": 2, "num_inner_repetitions": 2},
        {"embedding_dim": 16},
        {"embedding_dim": 16, "use_embedding_projection": True},
    ],
    ids=str,
)
def test_parameters_are_those_of_the_model(changes):
    from keras_albert.models import AlbertBackbone
    from keras_albert.models import AlbertPretrainer

    arguments = {**TINY, **changes}
    model = AlbertPretrainer(AlbertBackbone(**arguments))

    assert num_parameters(arguments) == model.count_params()


def test_flops_by_hand():
    shape = StepShape(TINY, batch_size=3, sequence_length=5, num_predictions=2)
    tokens, predictions = 15, 6
    attention = 4 * 16 * 16 * tokens + 2 * 5 * 16 * tokens
    feed_forward = 2 * 16 * 24 * tokens
    encoder = 2 * 4 * (attention + feed_forward)
    rest = 2 * (
        tokens * 8 * 16
        + predictions * (16 * 8 + 8 * 50)
        + 3 * (16 * 16 + 16 * 2)
    )

    assert step_flops(shape) == 3 * (encoder + rest)
    again = StepShape({**TINY, "remat": True}, 3, 5, 2)
    assert step_flops(again) == 4 * encoder + 3 * rest
    assert useful_flops(again) == useful_flops(shape) == step_flops(shape)


def test_depth_costs_arithmetic_and_no_weights():
    deep = {**TINY, "num_layers": 8}
    shape, deeper = (StepShape(a, 3, 5, 2) for a in (TINY, deep))

    assert (
        state_bytes(shape)
        == state_bytes(deeper)
        == 3 * 4 * num_parameters(TINY)
    )
    assert step_flops(deeper) > 1.5 * step_flops(shape)


def test_a_shallow_phase_keeps_the_weights_of_the_whole_model():
    arguments = {**TINY, "sharing": "none"}
    whole = StepShape(arguments, 3, 5, 2)
    shallow = StepShape(arguments, 3, 5, 2, active_layers=1)
    one_layer = StepShape({**TINY, "num_layers": 1}, 3, 5, 2)

    assert state_bytes(shallow) == state_bytes(whole)
    assert step_flops(shallow) == step_flops(one_layer)


@pytest.mark.parametrize("name", ["adamw", "lamb"])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("ema_momentum", [None, 0.99])
def test_the_state_is_that_of_the_optimizer(name, accumulate, ema_momentum):
    import keras

    from keras_albert.training.recipes import make_optimizer

    settings = {"accumulate": accumulate, "ema_momentum": ema_momentum}
    weight = keras.Variable([[1.0, 2.0, 3.0]])
    optimizer = make_optimizer(name, 0.1, steps=10, **settings)
    optimizer.build([weight])
    kept = [v for v in optimizer.variables if v.shape == weight.shape]

    assert optimizer_slots({"name": name, **settings}) == len(kept)


def test_what_an_optimizer_keeps_costs_memory_and_traffic():
    shape = StepShape(TINY, 3, 5, 2)
    weights = 4 * num_parameters(TINY)
    usual, more = estimate_costs(shape), estimate_costs(shape, slots=4)

    assert more["argument_bytes"] - usual["argument_bytes"] == 2 * weights
    assert more["bytes_accessed"] - usual["bytes_accessed"] == 4 * weights


def test_recomputing_trades_arithmetic_for_memory():
    shape = StepShape(BASE, 32, 512, 77)
    lean = StepShape({**BASE, "remat": True}, 32, 512, 77)

    assert temporary_bytes(lean) < 0.3 * temporary_bytes(shape)
    assert step_flops(lean) > 1.3 * step_flops(shape)
    assert traffic_bytes(lean) > traffic_bytes(shape)


def test_half_precision_halves_activations_and_not_scores():
    def temporary(dtype, keeps_scores):
        arguments = {**BASE, "dtype": dtype}
        return temporary_bytes(StepShape(arguments, 32, 512, 77, keeps_scores))

    scores = 12 * (32 * 512) * (12 * 512) * 4
    for dtype in (None, "mixed_bfloat16"):
        assert temporary(dtype, True) - temporary(dtype, False) == scores
    assert 1.7 < temporary(None, False) / temporary("mixed_bfloat16", False) < 2


@pytest.mark.parametrize(
    "changes, keeps_scores, temporary, traffic",
    # What libtpu 0.0.52 said of albert_base, 32 x 512 on a core of v5e, LAMB.
    [
        ({}, False, 3_451_174_912, 42_724_462_592),
        ({}, True, 8_300_478_464, 88_158_420_992),
        # As one loop, whose bytes the compiler does not count.
        ({"remat": True}, False, 948_748_288, None),
    ],
    ids=["kernel", "scores", "remat"],
)
def test_the_formula_is_near_what_a_tpus_compiler_said(
    changes, keeps_scores, temporary, traffic
):
    shape = StepShape({**BASE, **changes}, 32, 512, 77, keeps_scores)

    assert temporary / 1.3 < temporary_bytes(shape) < temporary * 1.3
    if traffic:
        assert traffic / 1.1 < traffic_bytes(shape) < traffic * 1.1


def test_the_largest_batch_is_the_last_that_fits():
    assert largest_batch(1000, 100, 300) == 3
    assert largest_batch(999, 100, 300) == 2
    assert largest_batch(50, 100, 300) == 0
