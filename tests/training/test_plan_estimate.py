import pytest

from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import largest_batch
from keras_albert.training.plan_estimate import num_parameters
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


def test_recomputing_trades_arithmetic_for_memory():
    shape = StepShape(BASE, 32, 512, 77)
    lean = StepShape({**BASE, "remat": True}, 32, 512, 77)

    assert temporary_bytes(lean) < 0.3 * temporary_bytes(shape)
    assert step_flops(lean) > 1.3 * step_flops(shape)
    assert traffic_bytes(lean) > traffic_bytes(shape)


def test_half_precision_halves_activations():
    single = StepShape({**BASE, "dtype": None}, 32, 512, 77)
    half = StepShape(BASE, 32, 512, 77)

    assert single.compute_bytes == 2 * half.compute_bytes
    assert 1.7 < temporary_bytes(single) / temporary_bytes(half) < 2


def test_the_largest_batch_is_the_last_that_fits():
    assert largest_batch(1000, 100, 300) == 3
    assert largest_batch(999, 100, 300) == 2
    assert largest_batch(50, 100, 300) == 0
