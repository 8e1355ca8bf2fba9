"""Starting weights and dropout from one seed, equal on every backend.

Keras draws starting weights from the backend's generator and a global seed.
Here they are drawn again with NumPy, so that a run with the same seed starts
from the same numbers under TensorFlow, JAX and PyTorch, and nothing global
changes.
"""

import keras
import numpy as np

_CONSTANT_LEAVES = ("bias", "gamma", "beta")
_DROPOUT_STREAM = 0x44524F50


def seed_weights(variables, seed, stddev=0.02):
    """Draws all weights but constants anew, from a truncated normal.

    Biases and normalisation weights start at constants and are left alone.

    Args:
        variables: list of `keras.Variable`s.
        seed: int.
        stddev: float. Values beyond twice of it are drawn again. Defaults to
            `0.02`.
    """
    for index, variable in enumerate(variables):
        if not variable.path.endswith(_CONSTANT_LEAVES):
            generator = np.random.default_rng([seed, index])
            values = stddev * truncated_normal(generator, variable.shape)
            variable.assign(values.astype("float32"))


def seed_dropout(model, seed):
    """Sets the state of every dropout in `model`, a stream each.

    Args:
        model: `keras.Model`.
        seed: int.
    """
    for index, generator in enumerate(dropout_generators(model)):
        draw = np.random.default_rng([seed, _DROPOUT_STREAM, index])
        value = int(draw.integers(2**31))
        generator.state.assign([value, 0])
        # Without it Keras's PyTorch backend ignores the state and draws from
        # torch's global generator.
        generator._initial_seed = value


def dropout_generators(model):
    """Returns the seed generator of every dropout in `model`, in its order."""
    return [
        layer.seed_generator
        for layer in _all_layers(model)
        if isinstance(
            getattr(layer, "seed_generator", None), keras.random.SeedGenerator
        )
    ]


def truncated_normal(generator, shape):
    """Returns standard normal values between -2 and 2.

    Args:
        generator: `numpy.random.Generator`.
        shape: tuple of ints.
    """
    values = generator.standard_normal(shape)
    while (outside := np.abs(values) > 2).any():
        values[outside] = generator.standard_normal(outside.sum())
    return values


def _all_layers(layer):
    layers = list(layer._flatten_layers())
    unique = {id(each): each for each in layers}
    return list(unique.values())
