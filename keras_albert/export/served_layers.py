"""The layers of a served graph: plain variables, few and large operations."""

import tensorflow as tf

from keras_albert.export.weight_arrays import dense_arrays
from keras_albert.export.weight_arrays import float_array
from keras_albert.export.weight_arrays import norm_arrays

ACTIVATIONS = {
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "gelu_erf": lambda x: tf.nn.gelu(x, approximate=False),
    "relu": tf.nn.relu,
    "silu": tf.nn.silu,
    "tanh": tf.tanh,
}
# TensorFlow's own exact GELU has an operation (Erfc) that no other runtime
# knows.
PORTABLE_ACTIVATIONS = {
    **ACTIVATIONS,
    "gelu_erf": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 2**-0.5)),
}


class Dense(tf.Module):
    """`x kernel + bias` on rows.

    Args:
        kernel: array of shape `(inputs, outputs)`.
        bias: array of shape `(outputs,)`.
        dtype: dtype of the variables. Defaults to float32.
    """

    def __init__(self, kernel, bias, dtype=tf.float32):
        super().__init__()
        self.kernel = variable(kernel, dtype)
        self.bias = variable(bias, dtype)

    @classmethod
    def of(cls, layer, dtype=tf.float32):
        """Copies a Keras `Dense`."""
        return cls(*dense_arrays(layer), dtype)

    def __call__(self, x):
        return tf.nn.bias_add(tf.matmul(x, self.kernel), self.bias)


class LayerNorm(tf.Module):
    """Normalises the last axis in float32.

    Args:
        gamma: array of shape `(width,)`.
        beta: array of shape `(width,)`.
        epsilon: float.
        dtype: dtype of the variables. Defaults to float32.
    """

    def __init__(self, gamma, beta, epsilon, dtype=tf.float32):
        super().__init__()
        self.gamma = variable(gamma, dtype)
        self.beta = variable(beta, dtype)
        self._epsilon = epsilon

    @classmethod
    def of(cls, layer, dtype=tf.float32):
        """Copies a Keras `LayerNormalization`."""
        return cls(*norm_arrays(layer), layer.epsilon, dtype)

    def __call__(self, x):
        exact = tf.cast(x, tf.float32)
        mean = tf.reduce_mean(exact, -1, keepdims=True)
        centred = exact - mean
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        scale = tf.math.rsqrt(variance + self._epsilon)
        gamma = tf.cast(self.gamma, tf.float32)
        beta = tf.cast(self.beta, tf.float32)
        return tf.cast(centred * (scale * gamma) + beta, x.dtype)


class Block(tf.Module):
    """Two dense layers and the norm at the end of an encoder block.

    Args:
        first: `Dense` from H to the inner width.
        second: `Dense` back to H.
        norm: `LayerNorm`.
    """

    def __init__(self, first, second, norm):
        super().__init__()
        self.first = first
        self.second = second
        self.norm = norm


def variable(value, dtype=tf.float32):
    """A variable that holds a copy.

    Args:
        value: array, or variable of any backend.
        dtype: its dtype. Defaults to float32.
    """
    return tf.Variable(tf.cast(float_array(value), dtype), trainable=False)
