"""Activations by an unambiguous name.

"gelu" means the tanh approximation in Google's ALBERT and the error-function
form elsewhere; both are spelled out here so that no configuration can be read
two ways.
"""

import math

import keras
from keras import ops

from keras_albert.layers.recomputation import with_derivative

# Beyond, both forms are x or 0 to the last bit and their derivatives 1 or 0;
# x**3 would overflow float16 there, and float32 only beyond 1e12.
_FLAT = 10.0


def gelu_tanh(x):
    """Returns the tanh approximation of GELU, Google's `"gelu"`."""
    return _gelu_tanh(x)


def gelu_erf(x):
    """Returns the exact GELU, `x` times the normal distribution function."""
    return _gelu_erf(x)


def _approximate(x):
    return keras.activations.gelu(x, approximate=True)


def _approximate_parts(x):
    # (1 + tanh(u)) / 2 = sigmoid(2 u), and few passes over a wide tensor.
    scale, cubic = 2.0 * math.sqrt(2.0 / math.pi), 0.044715
    flat = _within_range(x)
    square = flat * flat
    share = ops.sigmoid(flat * (scale + scale * cubic * square))
    slope = flat * (scale + 3.0 * scale * cubic * square)
    return x * share, share + (share - share * share) * slope


def _exact(x):
    x = ops.convert_to_tensor(x)
    # Spelled with erf, not erfc, because ONNX has no Erfc operator.
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def _exact_parts(x):
    flat = _within_range(x)
    density = ops.exp(-0.5 * flat * flat) / math.sqrt(2.0 * math.pi)
    share = 0.5 * (1.0 + ops.erf(flat / math.sqrt(2.0)))
    return x * share, share + flat * density


def _within_range(x):
    if keras.backend.standardize_dtype(x.dtype) != "float16":
        return x
    return ops.clip(x, -_FLAT, _FLAT)


_gelu_tanh = with_derivative(_approximate, lambda x: _approximate_parts(x)[1])
_gelu_erf = with_derivative(_exact, lambda x: _exact_parts(x)[1])

ACTIVATIONS = {
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
    "relu": keras.activations.relu,
    "silu": keras.activations.silu,
    "tanh": keras.activations.tanh,
}
# Value and derivative from one input, for a backward pass. Spelled in another
# way than the forward pass on purpose: XLA would find equal formulas and keep
# what they give.
PARTS = {
    gelu_tanh: _approximate_parts,
    gelu_erf: _exact_parts,
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
