"""Gradients against PyTorch's in float64, and what is kept for them."""

import keras
import numpy as np
import pytest

from keras_albert.layers.activations import get_activation
from keras_albert.layers.feed_forward import FeedForward
from keras_albert.layers.feed_forward import activated_product
from keras_albert.layers.layer_normalization import LayerNormalization
from keras_albert.layers.recomputation import recomputed
from keras_albert.layers.self_attention import SelfAttention
from keras_albert.layers.self_attention import attention_context
from keras_albert.layers.self_attention import attention_with_kept_weights
from tests.checks import to_numpy

BATCH, LENGTH, HEADS, DIM = 2, 5, 3, 4
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "bool")[:, None, None]


def random_arrays(*shapes):
    generator = np.random.default_rng(3)
    return [generator.normal(size=shape) for shape in shapes]


def value_and_gradients(function, arrays, direction):
    """`function(*arrays)` and the gradients of its product with a tensor."""
    backend = keras.backend.backend()
    tensors = [keras.ops.convert_to_tensor(x) for x in arrays]
    direction = keras.ops.cast(direction, tensors[0].dtype)
    if backend == "jax":
        import jax

        value, pull = jax.vjp(function, *tensors)
        return to_numpy(value), to_numpy(pull(direction))
    if backend == "torch":
        for x in tensors:
            x.requires_grad_()
        value = function(*tensors)
        value.backward(direction)
        return to_numpy(value), [to_numpy(x.grad) for x in tensors]
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    return to_numpy(value), to_numpy(tape.gradient(value, tensors, direction))


def torch_reference(function, arrays, direction):
    import torch

    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    value = function(*tensors)
    value.backward(torch.tensor(direction))
    return value.detach().numpy(), [x.grad.numpy() for x in tensors]


def check(function, reference, arrays, direction):
    value, gradients = value_and_gradients(
        function, [x.astype("float32") for x in arrays], direction
    )
    expected, expected_gradients = torch_reference(reference, arrays, direction)
    np.testing.assert_allclose(value, expected, atol=2e-6)
    for a, b in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.every_backend
@pytest.mark.parametrize("form", ["tanh", "erf"])
def test_gelu(form):
    import torch

    approximate = "tanh" if form == "tanh" else "none"

    check(
        get_activation(f"gelu_{form}"),
        lambda x: torch.nn.functional.gelu(x, approximate=approximate),
        [np.linspace(-30, 30, 601)],
        np.linspace(0.5, 2, 601),
    )


@pytest.mark.every_backend
@pytest.mark.parametrize("form", ["tanh", "erf"])
def test_gelu_has_finite_slopes_in_float16(form):
    x = np.array([-6e4, -300, -41, 0, 41, 300, 6e4], "float16")

    _, (slopes,) = value_and_gradients(
        get_activation(f"gelu_{form}"), [x], np.ones(7)
    )

    np.testing.assert_allclose(slopes, [0, 0, 0, 0.5, 1, 1, 1], atol=1e-3)


@pytest.mark.every_backend
def test_layer_normalization():
    import torch

    layer = LayerNormalization(epsilon=1e-3)
    layer.build((BATCH, LENGTH, DIM))

    def function(x, gamma, beta):
        value, _ = layer.stateless_call([gamma, beta], [], x)
        return value

    *arrays, direction = random_arrays(
        (BATCH, LENGTH, DIM), (DIM,), (DIM,), (BATCH, LENGTH, DIM)
    )
    check(
        function,
        lambda x, gamma, beta: torch.nn.functional.layer_norm(
            x, (DIM,), gamma, beta, 1e-3
        ),
        arrays,
        direction,
    )


@pytest.mark.every_backend
@pytest.mark.parametrize("masked", [False, True])
def test_attention(masked):
    import torch

    def reference(query, key, value):
        query, key, value = (x.transpose(1, 2) for x in (query, key, value))
        mask = torch.tensor(MASK) if masked else None
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, mask
        ).transpose(1, 2)

    def function(*tensors):
        mask = keras.ops.convert_to_tensor(MASK) if masked else None
        return attention_context(*tensors, mask)

    *arrays, direction = random_arrays(*4 * [(BATCH, LENGTH, HEADS, DIM)])
    check(function, reference, arrays, direction)


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="for PyTorch's gradients"
)
@pytest.mark.every_backend
@pytest.mark.parametrize("masked", [False, True])
def test_attention_with_kept_weights(masked):
    import torch

    def function(*tensors):
        mask = keras.ops.convert_to_tensor(MASK) if masked else None
        return attention_with_kept_weights(*tensors, mask)

    def reference(*tensors):
        mask = torch.tensor(MASK) if masked else None
        tensors = (x.transpose(1, 2) for x in tensors)
        return torch.nn.functional.scaled_dot_product_attention(
            *tensors, mask
        ).transpose(1, 2)

    *arrays, direction = random_arrays(*4 * [(BATCH, LENGTH, HEADS, DIM)])
    check(function, reference, arrays, direction)


def kept(function, *shapes):
    """Sizes of the tensors that a backward pass takes from the forward one."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        inputs = [tf.compat.v1.placeholder("float32", s) for s in shapes]
        output = function(*inputs)
        upstream = tf.compat.v1.placeholder("float32", output.shape)
        forward = set(graph.get_operations())
        tf.gradients(output, inputs, upstream)
        tensors = {
            _source(x).name: x
            for op in graph.get_operations()
            if op not in forward
            for x in op.inputs
            if x.op in forward and x is not upstream
        }
    # Single numbers are constants.
    return sorted(x.shape.num_elements() for x in tensors.values() if x.shape)


def _source(tensor):
    """The tensor that this one is another name of."""
    while tensor.op.type in ("Identity", "IdentityN"):
        tensor = tensor.op.inputs[tensor.value_index]
    return tensor


@pytest.mark.parametrize("form", ["tanh", "erf"])
def test_gelu_keeps_its_input(form):
    assert kept(get_activation(f"gelu_{form}"), (7, 11)) == [77]


def test_layer_normalization_keeps_its_input():
    layer = LayerNormalization()
    layer.build((None, 11))

    def function(x, gamma, beta):
        return layer.stateless_call([gamma, beta], [], x)[0]

    assert kept(function, (7, 11), (11,), (11,)) in ([11, 77], [11, 11, 77])


def test_attention_keeps_query_key_and_value():
    def function(*tensors):
        return attention_context(*tensors, None)

    shape = (BATCH, 100, HEADS, DIM)
    assert kept(function, shape, shape, shape) == 3 * [np.prod(shape)]


@pytest.mark.every_backend
def test_a_single_tensor_has_a_single_gradient():
    double = recomputed(lambda x: 2 * x, lambda upstream, x: 2 * upstream)

    value, (slope,) = value_and_gradients(
        double, [np.ones(3, "float32")], np.arange(3)
    )

    assert value.tolist() == [2, 2, 2]
    assert slope.tolist() == [0, 2, 4]


@pytest.mark.every_backend
@pytest.mark.parametrize("form", ["tanh", "erf"])
def test_activated_product(form):
    import torch

    approximate = "tanh" if form == "tanh" else "none"

    def reference(x, kernel):
        return torch.nn.functional.gelu(x, approximate=approximate) @ kernel

    *arrays, direction = random_arrays(
        (BATCH, LENGTH, 7), (7, DIM), (BATCH, LENGTH, DIM)
    )
    check(
        lambda x, kernel: activated_product(
            x, kernel, get_activation(f"gelu_{form}")
        ),
        reference,
        arrays,
        direction,
    )


def test_activated_product_keeps_its_inputs():
    def function(x, kernel):
        return activated_product(x, kernel, get_activation("gelu_tanh"))

    assert kept(function, (2, 5, 13), (13, 3)) == [39, 130]


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="a tool of PyTorch's"
)
@pytest.mark.every_backend
def test_activated_product_keeps_its_inputs_on_torch():
    import torch

    x, kernel = (
        torch.ones(shape, requires_grad=True) for shape in ((2, 5, 13), (13, 3))
    )
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.numel()) or tensor,
        lambda tensor: tensor,
    ):
        activated_product(x, kernel, get_activation("gelu_tanh"))

    assert sorted(saved) == [39, 130]


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="XLA decides when to compute"
)
@pytest.mark.every_backend
def test_xla_computes_nothing_for_the_backward_pass_in_advance():
    import jax
    import jax.numpy as jnp

    calls, rows, wide = 12, 64, 512

    def loss(x, first, second):
        for _ in range(calls):
            wide_x = x @ first
            x = activated_product(wide_x, second, get_activation("gelu_tanh"))
        return jnp.sum(x)

    shapes = (1, rows, 8), (8, wide), (wide, 8)
    compiled = (
        jax.jit(jax.grad(loss, argnums=(1, 2)))
        .lower(*(jax.ShapeDtypeStruct(s, "float32") for s in shapes))
        .compile()
    )
    # One wide tensor a call is kept, and what a single call needs.
    wide_tensors = compiled.memory_analysis().temp_size_in_bytes / (
        4 * rows * wide
    )
    assert calls <= wide_tensors < 1.5 * calls


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="XLA decides what to keep"
)
@pytest.mark.every_backend
def test_attention_of_cpus_keeps_no_weights_under_xla():
    import jax
    import jax.numpy as jnp

    calls, length, heads = 12, 64, 8
    layer = SelfAttention(32, heads)
    layer.build((1, length, 32))
    weights = [variable.value for variable in layer.trainable_variables]

    def loss(weights, x):
        for _ in range(calls):
            x, _ = layer.stateless_call(weights, [], x, training=True)
        return jnp.sum(x)

    compiled = (
        jax.jit(jax.grad(loss))
        .lower(weights, jax.ShapeDtypeStruct((1, length, 32), "float32"))
        .compile()
    )
    kept = compiled.memory_analysis().temp_size_in_bytes
    assert kept < calls * 4 * heads * length * length


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="a tool of PyTorch's"
)
@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("dtype", "length", "is_fused"),
    [
        ("mixed_bfloat16", 128, False),
        ("mixed_bfloat16", 129, True),
        ("float32", 128, True),
    ],
)
def test_short_16_bit_attention_is_not_fused_on_torch(dtype, length, is_fused):
    import torch

    layer = SelfAttention(8, 2, dtype=dtype)
    y = layer(torch.ones((1, length, 8)), training=True)

    functions, found = [y.grad_fn], set()
    while functions:
        function = functions.pop()
        if function is not None and function not in found:
            found.add(function)
            functions += [each for each, _ in function.next_functions]
    names = " ".join(function.name() for function in found)
    assert ("ScaledDotProduct" in names) is is_fused


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="a tool of PyTorch's"
)
@pytest.mark.every_backend
def test_feed_forward_keeps_one_wide_tensor_on_torch():
    import torch

    layer = FeedForward(8, 13)
    layer.build((2, 5, 8))
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor
    ):
        layer(torch.ones((2, 5, 8)), training=True)

    wide = [x for x in saved if x.numel() == 2 * 5 * 13]
    assert len({x.untyped_storage().data_ptr() for x in wide}) == 1
