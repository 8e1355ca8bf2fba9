"""Every sharing policy against NumPy: values, weights, gradients."""

import numpy as np
import pytest
from keras import ops

from keras_albert.layers import SharedEncoder
from keras_albert.layers import layer_schedule
from tests.checks import block_weights
from tests.checks import check_layer
from tests.checks import gradients
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(4).normal(size=(2, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1] * 5], dtype="int32")
POLICIES = ["all", "attention", "ffn", "none"]


def make(num_layers=3, **keywords):
    layer = SharedEncoder(
        num_layers, num_heads=2, hidden_dim=8, intermediate_dim=11, **keywords
    )
    layer.build(X.shape)
    randomize(layer)
    return layer


def calls_of(layer):
    return [
        (
            block_weights(layer.transformer_layers[i].self_attention),
            block_weights(layer.transformer_layers[i].feed_forward),
        )
        for i in layer.call_order
    ]


@pytest.mark.parametrize("sharing", POLICIES)
def test_is_a_proper_layer(sharing):
    attentions, feed_forwards = {
        "all": (1, 1),
        "attention": (1, 3),
        "ffn": (3, 1),
        "none": (3, 3),
    }[sharing]

    check_layer(
        make(sharing=sharing),
        [X],
        {"padding_mask": MASK},
        num_weights=10 * attentions + 6 * feed_forwards,
    )


@pytest.mark.parametrize("sharing", POLICIES)
@pytest.mark.parametrize(
    "sizes",
    [
        {"num_layers": 3},
        {"num_layers": 4, "num_groups": 2},
        {"num_layers": 2, "num_groups": 2, "num_inner_repetitions": 2},
    ],
)
def test_every_layer_equals_numpy(sharing, sizes):
    layer = make(sharing=sharing, **sizes)

    outputs = layer(X, padding_mask=MASK, return_all_layers=True)

    expected = numpy_albert.encoder(
        np.float64(X), MASK, calls_of(layer), num_heads=2
    )
    np.testing.assert_allclose(np.stack(to_numpy(outputs)), expected, atol=1e-4)
    np.testing.assert_allclose(
        to_numpy(layer(X, padding_mask=MASK)), expected[-1], atol=1e-4
    )


@pytest.mark.parametrize("sharing", POLICIES)
def test_blocks_are_shared_as_the_schedule_says(sharing):
    layer = make(sharing=sharing, num_layers=4, num_groups=2)

    schedule = layer_schedule(sharing, 4, num_groups=2)

    called = [layer.transformer_layers[i] for i in layer.call_order]
    for i, (attention, feed_forward) in enumerate(schedule):
        for j, (other_attention, other_feed_forward) in enumerate(schedule):
            same = called[i].self_attention is called[j].self_attention
            assert same == (attention == other_attention)
            same = called[i].feed_forward is called[j].feed_forward
            assert same == (feed_forward == other_feed_forward)


def test_depth_costs_no_weights_when_all_is_shared():
    counts = {make(num_layers=n).count_params() for n in (1, 2, 7)}

    assert len(counts) == 1


def test_gradient_of_a_reused_layer_is_the_sum_over_its_calls():
    shared, unshared = make(sharing="all"), make(sharing="none")
    for layer in unshared.transformer_layers:
        for variable, value in zip(
            layer.weights, shared.transformer_layers[0].weights, strict=True
        ):
            variable.assign(value.value)

    def loss_of(encoder):
        return lambda: ops.sum(
            ops.multiply(ops.square(encoder(X, padding_mask=MASK)), X)
        )

    of_shared = gradients(shared, loss_of(shared))
    of_unshared = gradients(unshared, loss_of(unshared))

    per_call = len(of_shared)
    for i, gradient in enumerate(of_shared):
        total = sum(of_unshared[i::per_call])
        np.testing.assert_allclose(gradient, total, rtol=1e-3, atol=1e-4)
        assert np.abs(total - of_unshared[i]).max() > 1e-4 or i in KEY_BIASES


# The softmax does not see a constant added to all keys: no gradient at all.
KEY_BIASES = {3}


def test_dropouts_reach_both_blocks():
    layer = make(hidden_dropout=0.1, attention_dropout=0.2)

    block = layer.transformer_layers[0]

    assert block.self_attention.hidden_dropout == 0.1
    assert block.self_attention.attention_dropout == 0.2
    assert block.feed_forward.hidden_dropout == 0.1


@pytest.mark.parametrize("sharing", POLICIES)
def test_fewer_active_layers_are_the_encoder_of_that_depth(sharing):
    encoder = make(num_layers=3, sharing=sharing)
    shallow = make(num_layers=2, sharing=sharing)
    weights = {v.path.split("/", 1)[-1]: v for v in encoder.weights}
    for variable in shallow.weights:
        variable.assign(weights[variable.path.split("/", 1)[-1]])
    whole = to_numpy(encoder(X, padding_mask=MASK))

    encoder.active_layers = 2
    got = to_numpy(encoder(X, padding_mask=MASK))
    encoder.active_layers = 3

    expected = to_numpy(shallow(X, padding_mask=MASK))
    np.testing.assert_allclose(got, expected, atol=1e-6)
    np.testing.assert_array_equal(
        to_numpy(encoder(X, padding_mask=MASK)), whole
    )


def test_groups_keep_their_share_of_fewer_layers():
    encoder = make(num_layers=6, num_groups=2)

    encoder.active_layers = 4

    assert encoder.call_order == [0, 0, 1, 1]


@pytest.mark.parametrize("sharing", POLICIES)
def test_fewer_layers_of_groups_have_the_parts_of_the_deep_one(sharing):
    encoder = make(num_layers=4, num_groups=2, sharing=sharing)
    names = {layer: i for i, layer in enumerate(encoder.transformer_layers)}
    deep = [encoder.transformer_layers[i] for i in encoder.call_order]

    encoder.active_layers = 2

    made = [encoder.transformer_layers[i] for i in encoder.call_order]
    # The first call of each group of two.
    assert [names[x] for x in made] == [names[deep[0]], names[deep[2]]]


@pytest.mark.parametrize("count", [1, 7])
def test_active_layers_outside_the_depth_are_refused(count):
    encoder = make(num_layers=6, num_groups=2)

    with pytest.raises(ValueError, match=f"active_layers={count}"):
        encoder.active_layers = count
