"""Activations by an unambiguous name.

"gelu" means the tanh approximation in Google's ALBERT and the error-function
form elsewhere; both are spelled out here so that no configuration can be read
two ways.
"""

import math

import keras
from keras import ops


def gelu_tanh(x):
    """Returns the tanh approximation of GELU, Google's `"gelu"`."""
    return keras.activations.gelu(x, approximate=True)


def gelu_erf(x):
    """Returns the exact GELU, `x` times the normal distribution function."""
    x = ops.convert_to_tensor(x)
    # Spelled with erf, not erfc, because ONNX has no Erfc operator.
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


ACTIVATIONS = {
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
    "relu": keras.activations.relu,
    "silu": keras.activations.silu,
    "tanh": keras.activations.tanh,
}


def get_activation(name):
    """Returns the activation function of that name.

    Args:
        name: string, a key of `ACTIVATIONS`.

    Raises:
        ValueError: for any other name, `"gelu"` among them.
    """
    if not isinstance(name, str) or name not in ACTIVATIONS:
        hint = (
            "'gelu' is ambiguous: use 'gelu_tanh' for Google's and "
            "keras-hub's form, 'gelu_erf' for the exact one."
            if name == "gelu"
            else "Use one of these names."
        )
        raise ValueError(
            f"`activation` must be one of {', '.join(ACTIVATIONS)}. "
            f"Received: activation={name!r}. {hint}"
        )
    return ACTIVATIONS[name]
