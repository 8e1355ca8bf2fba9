"""Looped and rematerialised calls give the numbers of unrolled ones."""

import functools
import gc

import keras
import numpy as np
import pytest
from keras import ops

from keras_albert.layers import SharedEncoder
from keras_albert.training.seeding import seed_dropout
from tests.checks import gradients
from tests.checks import max_difference
from tests.checks import randomize

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(5).normal(size=(4, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1] * 5] * 2, dtype="int32")
Y = np.random.default_rng(6).normal(size=(4, 5, 8)).astype("float32")
VARIANTS = [
    {"unroll": True, "remat": False},
    {"unroll": False, "remat": False},
    {"unroll": True, "remat": True},
    {"unroll": False, "remat": True},
]


def make(dropout=0.0, seeded=False, **keywords):
    keras.utils.set_random_seed(7)
    layer = SharedEncoder(
        *(3, 2, 8, 11),
        hidden_dropout=dropout,
        attention_dropout=dropout,
        **keywords,
    )
    layer.build(X.shape)
    randomize(layer)
    if seeded:
        seed_dropout(layer, 3)
    return layer


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_outputs_and_gradients_equal_the_unrolled(variant):
    layers = make(**VARIANTS[0]), make(**variant)

    def loss_of(layer):
        return lambda: ops.sum(
            ops.square(
                ops.subtract(layer(X, padding_mask=MASK, training=True), Y)
            )
        )

    assert (
        max_difference(*(layer(X, padding_mask=MASK) for layer in layers))
        < 1e-5
    )
    assert (
        max_difference(*(gradients(layer, loss_of(layer)) for layer in layers))
        < 1e-3
    )


@functools.cache
def fit_losses(unroll, remat, dropout, seeded=False):
    layer = make(dropout, seeded, unroll=unroll, remat=remat)
    x = keras.Input(X.shape[1:])
    mask = keras.Input(MASK.shape[1:], dtype="int32")
    model = keras.Model([x, mask], layer(x, padding_mask=mask))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    history = model.fit(
        [X, MASK], Y, batch_size=2, epochs=3, verbose=0, shuffle=False
    )
    return history.history["loss"]


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_training_with_dropout_equals_the_unrolled(variant, seeded):
    # Losses of later steps agree only if the gradients did, and if every
    # call drew the dropout mask the unrolled one drew.
    losses = fit_losses(**variant, dropout=0.3, seeded=seeded)

    np.testing.assert_allclose(
        losses,
        fit_losses(**VARIANTS[0], dropout=0.3, seeded=seeded),
        rtol=1e-4,
    )
    assert losses != fit_losses(**VARIANTS[0], dropout=0.0)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="other backends sum gradients as they come",
)
@pytest.mark.parametrize("remat", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_gradients_of_the_calls_are_summed_two_at_a_time(remat, dtype):
    import tensorflow as tf

    layer = SharedEncoder(6, 2, 8, 11, unroll=True, remat=remat, dtype=dtype)
    layer.build(X.shape)

    @tf.function
    def gradients_of_weights(x):
        with tf.GradientTape() as tape:
            y = layer(x, training=True)
        return tape.gradient(y, [v.value for v in layer.trainable_variables])

    graph = gradients_of_weights.get_concrete_function(X).graph
    kernel = layer.transformer_layers[0].feed_forward.intermediate.kernel
    sums = [
        (len(op.inputs), op.outputs[0].dtype)
        for op in graph.get_operations()
        if op.type == "AddN" and op.outputs[0].shape == kernel.shape
    ]

    assert sums == 5 * [(2, tf.as_dtype(layer.compute_dtype))]


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it keeps"
)
@pytest.mark.parametrize("trainable", [True, False])
def test_calls_keep_one_copy_of_16_bit_weights(trainable):
    import torch

    layer = SharedEncoder(6, 2, 8, 11, dtype="mixed_bfloat16")
    layer.build(X.shape)
    layer.trainable = trainable
    x = torch.tensor(X, requires_grad=True)
    kept = []  # alive, so that no address is used twice

    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor
    ):
        layer(x, training=True)

    kernel = layer.transformer_layers[0].feed_forward.intermediate.kernel
    places = {
        each.untyped_storage().data_ptr()
        for each in kept
        if sorted(each.shape) == sorted(kernel.shape)
        and each.dtype == torch.bfloat16
    }
    # That of the block's other kernel has the same sides.
    assert len(places) == 2


def torch_memory():
    """A mode of PyTorch's that knows all it made, and what closures hold.

    Its `alive()` counts the bytes that are there still, its `functions` are
    what was called.
    """
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode

    class Made(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.sizes = {}
            self.functions = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            self.functions.append(func.name())
            for each in torch.utils._pytree.tree_leaves(result):
                if isinstance(each, torch.Tensor):
                    storage = each.untyped_storage()
                    self.sizes[storage.data_ptr()] = (
                        StorageWeakRef(storage),
                        storage.nbytes(),
                    )
            return result

        def alive(self):
            return sum(n for ref, n in self.sizes.values() if not ref.expired())

    return Made()


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it makes"
)
@pytest.mark.parametrize(
    ("dtype", "width"), [("float32", 4), ("mixed_bfloat16", 2)]
)
def test_a_recomputed_call_keeps_its_input_alone(dtype, width):
    import torch

    x = torch.ones((4, 16, 32))
    kept = []
    for calls in (2, 5):
        layer = SharedEncoder(calls, 2, 32, 64, dtype=dtype, remat=True)
        layer.build(x.shape)
        with torch_memory() as memory:
            y = layer(x, training=True)
        kept.append(memory.alive())
    del y

    # Three calls more; a few bytes for their dropouts.
    assert kept[1] - kept[0] <= 3 * x.numel() * width * 1.1


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it makes"
)
def test_a_recomputed_call_leaves_no_garbage():
    import torch

    layer = SharedEncoder(3, 2, 32, 64, remat=True)
    layer.build((4, 16, 32))
    gc.disable()
    try:
        with torch_memory() as memory:
            layer(torch.ones((4, 16, 32)), training=True).sum().backward()
        left = memory.alive()
        gc.collect()
    finally:
        gc.enable()

    assert left == memory.alive()


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it calls"
)
def test_a_recomputed_call_is_made_again_once():
    import torch

    layer = SharedEncoder(3, 2, 32, 64, dtype="mixed_bfloat16", remat=True)
    layer.build((4, 16, 32))
    with torch_memory() as memory:
        layer(torch.ones((4, 16, 32)), training=True).sum().backward()

    assert memory.functions.count("aten::gelu") == 2 * 3
    assert not [n for n in memory.functions if "scaled_dot_product" in n]


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="TensorFlow's graph shows what is written",
)
@pytest.mark.parametrize("variant", VARIANTS[::2])
def test_frozen_weights_are_not_written(variant):
    import tensorflow as tf

    layer = make(**variant)
    layer.trainable = False
    graph = (
        tf.function(lambda x: layer(x, training=True))
        .get_concrete_function(X)
        .graph
    )

    assert not [op for op in graph.get_operations() if "Assign" in op.type]
