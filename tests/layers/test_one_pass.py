"""What is compiled gives the numbers of float64, and stays out of exports."""

import keras
import numpy as np
import pytest

from keras_albert.layers import FeedForward
from keras_albert.layers import SharedEncoder
from keras_albert.layers.activations import get_activation
from keras_albert.layers.feed_forward import activated_product
from keras_albert.layers.one_pass import NARROWEST
from keras_albert.layers.one_pass import in_one_pass
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(0).normal(0, 2, (6, NARROWEST)).astype("float32")
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's compiler"
)


def power(x, y):
    return (x * 3.0 + y) * x - y, x - y


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_it_is_the_function(dtype):
    x = keras.ops.cast(X, dtype)
    results = in_one_pass(power, NARROWEST)(x, x)

    exact = power(*[np.float64(to_numpy(keras.ops.cast(x, "float32")))] * 2)
    # Not compiled, each of four steps rounds.
    rounding = {"float32": 1e-6, "bfloat16": 0.03, "float16": 4e-3}[dtype]
    for mine, expected in zip(results, exact, strict=True):
        assert keras.backend.standardize_dtype(mine.dtype) == dtype
        np.testing.assert_allclose(
            to_numpy(keras.ops.cast(mine, "float32")),
            expected,
            atol=rounding * np.abs(expected).max(),
        )


@on_tensorflow
def test_16_bits_are_rounded_once():
    x = keras.ops.cast(X, "bfloat16")
    first, _ = in_one_pass(power, NARROWEST)(x, x)

    wide = to_numpy(keras.ops.cast(x, "float32"))
    np.testing.assert_array_equal(
        to_numpy(keras.ops.cast(first, "float32")),
        to_numpy(
            keras.ops.cast(
                keras.ops.cast(power(wide, wide)[0], "bfloat16"), "float32"
            )
        ),
    )


@on_tensorflow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("form", ["tanh", "erf"])
def test_the_product_and_its_gradients(form, dtype):
    import torch

    rng = np.random.default_rng(1)
    x = np.concatenate([X, [[-6e4, -300, 0, 300] * (NARROWEST // 4)]])
    x = keras.ops.cast(x / 10, dtype)
    kernel = keras.ops.cast(rng.normal(size=(NARROWEST, 3)), dtype)
    upstream = keras.ops.cast(rng.normal(size=(7, 3)), dtype)
    value, gradients = with_gradients(x, kernel, upstream, form)

    tensors = [
        torch.tensor(np.float64(to_numpy(keras.ops.cast(t, "float32"))))
        for t in (x, kernel, upstream)
    ]
    for tensor in tensors[:2]:
        tensor.requires_grad_()
    approximate = "tanh" if form == "tanh" else "none"
    y = torch.nn.functional.gelu(tensors[0], approximate=approximate)
    expected = y @ tensors[1]
    expected.backward(tensors[2])
    # Of sums over numbers up to 6000, some of which cancel.
    rounding = {"float32": 5e-5, "bfloat16": 0.01, "float16": 2e-3}[dtype]
    for mine, exact in zip(
        (value, *gradients),
        (expected.detach(), tensors[0].grad, tensors[1].grad),
        strict=True,
    ):
        mine = to_numpy(keras.ops.cast(mine, "float64"))
        scale = np.abs(exact.numpy()).max()
        np.testing.assert_allclose(mine, exact.numpy(), atol=rounding * scale)


def with_gradients(x, kernel, upstream, form):
    import tensorflow as tf

    activate = get_activation(f"gelu_{form}")
    with tf.GradientTape() as tape:
        tape.watch((x, kernel))
        value = activated_product(x, kernel, activate, one_pass=True)
    return value, tape.gradient(value, (x, kernel), upstream)


def compiled_calls(layer, length, **arguments):
    """How many functions that must be compiled a call of a layer contains."""
    import tensorflow as tf

    @tf.function
    def call(x):
        return layer(x, **arguments)

    graph = call.get_concrete_function(
        tf.TensorSpec((None, length, 8), "float32")
    ).graph
    operations = list(graph.get_operations())
    for function in graph._functions.values():
        operations += function.graph.get_operations()
    return sum(
        "_XlaMustCompile" in operation.node_def.attr
        and operation.get_attr("_XlaMustCompile")
        for operation in operations
    )


@on_tensorflow
def test_what_is_compiled():
    def layer(width):
        block = FeedForward(hidden_dim=8, intermediate_dim=width)
        block.build((None, None, 8))
        return block

    wide = layer(NARROWEST)
    assert compiled_calls(wide, 5, training=True) == 1
    # What is exported, ...
    assert compiled_calls(wide, 5, training=False) == 0
    assert compiled_calls(wide, 5) == 0
    # ... what would be compiled for each batch, and what is too small.
    assert compiled_calls(wide, None, training=True) == 0
    assert compiled_calls(layer(NARROWEST - 1), 5, training=True) == 0


@on_tensorflow
@pytest.mark.parametrize("remat", [False, True])
def test_with_remat_nothing_is_compiled(remat):
    encoder = SharedEncoder(2, 2, 8, NARROWEST, remat=remat)
    encoder.build((None, 5, 8))

    assert compiled_calls(encoder, 5, training=True) == (0 if remat else 2)


@on_tensorflow
def test_it_stands_in_a_compiled_step():
    import tensorflow as tf

    layer = FeedForward(hidden_dim=8, intermediate_dim=NARROWEST)
    layer.build((None, 5, 8))
    x = tf.constant(X.reshape(-1, 8)[:30].reshape(6, 5, 8))

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(layer(x, training=True) ** 3)
        return tape.gradient(loss, x)

    whole = tf.function(slope, jit_compile=True)(x)
    np.testing.assert_allclose(whole, slope(x), atol=1e-4)
