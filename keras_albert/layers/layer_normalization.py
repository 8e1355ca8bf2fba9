"""Layer normalisation that keeps only its input for the backward pass.

Shape letters: B batch, S sequence, H hidden.
"""

import keras
from keras import ops

from keras_albert.layers.recomputation import recomputed


@keras.saving.register_keras_serializable("keras_albert")
class LayerNormalization(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` over the last axis, with less memory.

    Same weights and numbers. On TensorFlow, which keeps every intermediate
    result of Keras's own, mean and deviation are computed again in the
    backward pass. JAX's compiler does so by itself, PyTorch has a fused
    function.

    Args:
        epsilon: float. Defaults to `1e-12`, as in Google's code.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: float tensor of shape `(..., H)`.

    Returns:
        Float tensor of the shape of `inputs`, in the compute dtype.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450).
    """

    def __init__(self, epsilon=1e-12, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)

    def call(self, inputs):
        if keras.backend.backend() != "tensorflow":
            return super().call(inputs)
        normalize = _normalization(self.epsilon, self.compute_dtype)
        # Copies, because a function with a gradient of its own must not
        # read variables.
        return normalize(inputs, ops.copy(self.gamma), ops.copy(self.beta))


def _normalization(epsilon, dtype):
    def standardized(x):
        # 16-bit sums would lose the mean.
        x = ops.cast(x, keras.backend.result_type(x.dtype, "float32"))
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(centred * centred, axis=-1, keepdims=True)
        scale = ops.rsqrt(variance + epsilon)
        return centred * scale, scale

    def function(x, gamma, beta):
        unit, _ = standardized(x)
        gamma, beta = (ops.cast(w, unit.dtype) for w in (gamma, beta))
        return ops.cast(unit * gamma + beta, dtype)

    def gradient(upstream, x, gamma, beta):
        unit, scale = standardized(x)
        upstream = ops.cast(upstream, unit.dtype)
        rows = tuple(range(len(x.shape) - 1))
        slope = upstream * ops.cast(gamma, unit.dtype)  # (B, S, H)
        along = ops.mean(slope * unit, axis=-1, keepdims=True)
        slope = slope - ops.mean(slope, axis=-1, keepdims=True) - unit * along
        return (
            ops.cast(scale * slope, x.dtype),
            ops.cast(ops.sum(upstream * unit, axis=rows), gamma.dtype),
            ops.cast(ops.sum(upstream, axis=rows), beta.dtype),
        )

    return recomputed(function, gradient)
