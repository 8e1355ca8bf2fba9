"""The feed-forward block: two dense layers, then add and norm.

Shape letters: B batch, S sequence, H hidden, F intermediate.
"""

import functools

import keras
from keras import ops

from keras_albert.layers.activations import PARTS
from keras_albert.layers.activations import get_activation
from keras_albert.layers.dropout import Dropout
from keras_albert.layers.initialization import kernel_initializer
from keras_albert.layers.layer_normalization import LayerNormalization
from keras_albert.layers.one_pass import in_one_pass
from keras_albert.layers.recomputation import is_in_whole_call
from keras_albert.layers.recomputation import is_recomputed_whole
from keras_albert.layers.recomputation import recomputed
from keras_albert.layers.rows import as_rows
from keras_albert.layers.rows import as_sequences


def activated_product(x, kernel, activate, one_pass=False):
    """Returns `activate(x) @ kernel`, keeping only `x` and `kernel`.

    For the backward pass the activation, the widest tensor of a layer, is
    computed again together with its derivative.

    Args:
        x: float tensor of shape `(batch_size, sequence_length, F)`.
        kernel: float tensor of shape `(F, H)`, of the dtype of `x`.
        activate: function, a key of `activations.PARTS`.
        one_pass: bool. Compile what is elementwise, where that is of use; for
            a backward pass that nobody exports, and few different shapes.
            Defaults to `False`.

    Returns:
        Float tensor of shape `(batch_size, sequence_length, H)`.
    """

    value_of, parts_of = activate, _with_gradient(activate)
    if one_pass:
        value_of, parts_of = (
            in_one_pass(f, x.shape[-1]) for f in (value_of, parts_of)
        )

    def function(x, kernel):
        return ops.matmul(value_of(x), kernel)

    def gradient(upstream, x, kernel):
        by_value = ops.matmul(upstream, ops.transpose(kernel))
        value, by_x = parts_of(x, by_value)
        rows = ops.reshape(value, (-1, value.shape[-1]))  # (B S, F)
        upstream = ops.reshape(upstream, (-1, upstream.shape[-1]))  # (B S, H)
        by_kernel = ops.matmul(ops.transpose(rows), upstream)
        return by_x, by_kernel

    if keras.backend.backend() == "torch":
        # Computes no more again than the activation.
        return keras.remat(function)(x, kernel)
    return recomputed(function, gradient)(x, kernel)


@functools.cache
def _with_gradient(activate):
    """The function from `x` and a gradient to the value and `x`'s gradient."""

    def value_and_gradient(x, upstream):
        value, derivative = PARTS[activate](x)
        return value, upstream * derivative

    return value_and_gradient


@keras.saving.register_keras_serializable("keras_albert")
class FeedForward(keras.layers.Layer):
    """Position-wise feed-forward block with residual and normalisation.

    `layer_norm(x + dropout(output(activation(intermediate(x)))))`, the second
    half of a post-norm Transformer layer.

    Args:
        hidden_dim: int. H.
        intermediate_dim: int. F, `4 * H` in the published models.
        activation: string, a name of `keras_albert.layers.activations`.
            Defaults to `"gelu_tanh"`, which Google's code calls `"gelu"`.
        hidden_dropout: float. Rate on the block's output before the residual
            is added. Defaults to `0.0`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.

    Call arguments:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        training: bool. Whether dropout is active.

    Returns:
        Float tensor of the shape of `hidden`.

    Example:

    >>> block = FeedForward(hidden_dim=8, intermediate_dim=11)
    >>> tuple(block(keras.ops.ones((3, 5, 8))).shape)
    (3, 5, 8)

    Reference:
        Google's `attention_ffn_block` in `modeling.py`.
    """

    def __init__(
        self,
        hidden_dim,
        intermediate_dim,
        activation="gelu_tanh",
        hidden_dropout=0.0,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.hidden_dropout = hidden_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

        self.activate = get_activation(activation)
        self.intermediate = keras.layers.Dense(
            intermediate_dim,
            kernel_initializer=kernel_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="intermediate",
        )
        self.feed_forward_output = keras.layers.Dense(
            hidden_dim,
            kernel_initializer=kernel_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="feed_forward_output",
        )
        self.output_dropout = Dropout(
            hidden_dropout, dtype=self.dtype_policy, name="output_dropout"
        )
        self.layer_norm = LayerNormalization(
            epsilon=layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="layer_norm",
        )

    def build(self, input_shape):
        self.intermediate.build(input_shape)
        self.feed_forward_output.build(
            (*input_shape[:-1], self.intermediate_dim)
        )
        self.layer_norm.build(input_shape)

    def call(self, hidden, training=None):
        rows = as_rows(hidden)
        x = self.intermediate(rows)  # (B, S, H) -> (B, S, F)
        # Lengths that change from batch to batch are many shapes.
        is_fixed = None not in hidden.shape[1:]
        x = self._contract(x, training, is_fixed)  # (B, S, F) -> (B, S, H)
        x = self.output_dropout(x, training=training)
        return as_sequences(self.layer_norm(rows + x), hidden)

    def _contract(self, x, training, is_fixed):
        dense = self.feed_forward_output
        can_recompute = self.activate in PARTS and not dense.quantization_mode
        if not (training and can_recompute) or is_recomputed_whole():
            return dense(self.activate(x))
        # A tensor, because a function with a gradient of its own must not read
        # variables; not a copy.
        kernel = ops.reshape(dense.kernel, dense.kernel.shape)
        # With remat memory comes first; compiled code takes some, too.
        one_pass = is_fixed and not is_in_whole_call()
        product = activated_product(x, kernel, self.activate, one_pass)
        return product + dense.bias

    def compute_output_shape(self, hidden_shape):
        return hidden_shape

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "hidden_dim": self.hidden_dim,
                "intermediate_dim": self.intermediate_dim,
                "activation": self.activation,
                "hidden_dropout": self.hidden_dropout,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
            }
        )
        return config
