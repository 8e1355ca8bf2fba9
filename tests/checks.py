"""Checks every layer and model must pass, and gradients on any backend.

Functions with arguments, no knowledge of any model.
"""

import json

import keras
import numpy as np
from keras import ops


def to_numpy(tree):
    return keras.tree.map_structure(ops.convert_to_numpy, tree)


def max_difference(a, b):
    pairs = zip(
        keras.tree.flatten(to_numpy(a)),
        keras.tree.flatten(to_numpy(b)),
        strict=True,
    )
    return max(
        float(np.max(np.abs(np.float64(x) - np.float64(y)))) for x, y in pairs
    )


def randomize(layer, seed=0, scale=0.3):
    """Sets every floating weight to seeded noise: zeros hide mistakes."""
    generator = np.random.default_rng(seed)
    for variable in layer.weights:
        if "seed" not in variable.path:
            noise = generator.normal(size=variable.shape, scale=scale)
            offset = 1.0 if variable.path.endswith("gamma") else 0.0
            variable.assign(noise + offset)


def block_weights(block):
    """Returns a block's weights as float64 arrays by their leaf names."""
    return {
        "/".join(v.path.split("/")[-2:]): np.float64(to_numpy(v.value))
        for v in block.weights
        if "seed" not in v.path
    }


def copy_weights(source, target):
    for a, b in zip(source.weights, target.weights, strict=True):
        b.assign(a.value)


def check_layer(layer, arguments, keywords=None, num_weights=None):
    """Asserts what any layer must do.

    The configuration survives JSON and rebuilds the layer; a symbolic call
    promises the shape and dtype of an eager one; the number of weights is as
    expected; reloaded weights give equal outputs.
    """
    keywords = keywords or {}
    eager = layer(*arguments, **keywords)

    config = json.loads(json.dumps(layer.get_config()))
    rebuilt = type(layer).from_config(config)
    assert rebuilt.get_config() == layer.get_config()

    symbolic = rebuilt(
        *keras.tree.map_structure(_symbol, arguments),
        **keras.tree.map_structure(_symbol, keywords),
    )
    for promise, value in zip(
        keras.tree.flatten(symbolic), keras.tree.flatten(eager), strict=True
    ):
        assert tuple(promise.shape) == tuple(value.shape)
        assert promise.dtype == keras.backend.standardize_dtype(value.dtype)

    if num_weights is not None:
        assert len(layer.trainable_weights) == num_weights
    rebuilt(*arguments, **keywords)
    copy_weights(layer, rebuilt)
    assert max_difference(rebuilt(*arguments, **keywords), eager) == 0.0


def _symbol(x):
    if not hasattr(x, "shape"):
        return x
    return keras.KerasTensor(x.shape, dtype=str(x.dtype))


def gradients(layer, loss_of):
    """Returns the gradients of `loss_of()` by trainable variable, in order.

    `loss_of` is a function without arguments that calls `layer`.
    """
    backend = keras.backend.backend()
    variables = layer.trainable_variables
    if backend == "tensorflow":
        return _tensorflow_gradients(variables, loss_of)
    if backend == "jax":
        return _jax_gradients(layer, variables, loss_of)
    return _torch_gradients(variables, loss_of)


def _tensorflow_gradients(variables, loss_of):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = loss_of()
    found = tape.gradient(loss, [v.value for v in variables])
    return [tf.convert_to_tensor(g).numpy() for g in found]


def _jax_gradients(layer, variables, loss_of):
    import jax

    others = layer.non_trainable_variables

    def loss(values, states):
        mapping = [
            *zip(variables, values, strict=True),
            *zip(others, states, strict=True),
        ]
        with keras.StatelessScope(state_mapping=mapping):
            return loss_of()

    found = jax.grad(loss)(
        [v.value for v in variables], [v.value for v in others]
    )
    return [np.asarray(g) for g in found]


def _torch_gradients(variables, loss_of):
    for variable in variables:
        variable.value.grad = None
    loss_of().backward()
    return [v.value.grad.detach().numpy().copy() for v in variables]
