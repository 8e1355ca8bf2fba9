"""The attention block against NumPy, masks and half precision."""

import keras
import numpy as np
import pytest

from keras_albert.layers import SelfAttention
from keras_albert.layers.self_attention import attention_weights
from tests.checks import block_weights
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(1).normal(size=(3, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1] * 5, [1, 0, 0, 0, 0]], dtype="int32")


def make(**keywords):
    layer = SelfAttention(hidden_dim=8, num_heads=2, **keywords)
    layer.build(X.shape)
    randomize(layer)
    return layer


def test_is_a_proper_layer():
    check_layer(make(), [X], {"padding_mask": MASK}, num_weights=10)


def test_equals_numpy():
    layer = make()

    output = to_numpy(layer(X, padding_mask=MASK))

    expected = numpy_albert.self_attention(
        np.float64(X), MASK, block_weights(layer), num_heads=2
    )
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_the_path_with_dropout_equals_the_fused_path():
    layer = make(attention_dropout=1e-7)

    unfused = to_numpy(layer(X, padding_mask=MASK, training=True))
    fused = to_numpy(layer(X, padding_mask=MASK, training=False))

    np.testing.assert_allclose(unfused, fused, atol=1e-5)


def test_masked_positions_get_no_weight():
    q = np.ones((1, 3, 2, 4), dtype="float32")
    mask = np.array([True, False, True])[None, None, None, :]

    weights = to_numpy(attention_weights(q, q, mask))

    np.testing.assert_allclose(
        weights, np.broadcast_to([0.5, 0, 0.5], (1, 2, 3, 3)), atol=1e-6
    )


def test_an_all_padding_row_attends_evenly():
    q = np.ones((1, 3, 2, 4), dtype="float32")

    weights = to_numpy(attention_weights(q, q, np.zeros((1, 1, 1, 3), bool)))

    np.testing.assert_allclose(weights, np.full((1, 2, 3, 3), 1 / 3), atol=1e-6)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_stays_finite_with_large_scores(dtype, training):
    layer = make(dtype=dtype, attention_dropout=0.1)
    mask = np.array([[1, 1, 1, 0, 0], [1] * 5, [0] * 5], dtype="int32")

    output = layer(50 * X, padding_mask=mask, training=training)

    assert keras.backend.standardize_dtype(output.dtype) == dtype[6:]
    assert np.isfinite(np.float32(to_numpy(output))).all()


@pytest.mark.parametrize("rate", ["hidden_dropout", "attention_dropout"])
def test_each_dropout_acts_on_its_own(rate):
    layer = make(**{rate: 0.5})

    outputs = [
        to_numpy(layer(X, padding_mask=MASK, training=training))
        for training in (False, True)
    ]

    assert np.abs(outputs[0] - outputs[1]).max() > 0.01


def test_heads_that_do_not_divide_are_named():
    with pytest.raises(ValueError, match="num_heads=3, hidden_dim=8"):
        SelfAttention(hidden_dim=8, num_heads=3)
