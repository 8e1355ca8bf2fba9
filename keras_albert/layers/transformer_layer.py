"""The layer ALBERT reuses: an attention block, then a feed-forward block."""

import keras

from keras_albert.layers.feed_forward import FeedForward
from keras_albert.layers.self_attention import SelfAttention


@keras.saving.register_keras_serializable("keras_albert")
class TransformerLayer(keras.layers.Layer):
    """One post-norm Transformer layer, made to be called many times.

    Both blocks carry their own residual and normalisation and may be handed
    in, so that two layers can own one block in common. This is how
    `SharedEncoder` shares attention and not feed-forward, or the reverse.

    Args:
        hidden_dim: int. H.
        num_heads: int. Number of attention heads; divides `hidden_dim`.
        intermediate_dim: int. Width inside the feed-forward block.
        activation: string. Defaults to `"gelu_tanh"`.
        hidden_dropout: float. Defaults to `0.0`.
        attention_dropout: float. Defaults to `0.0`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.
        self_attention: `SelfAttention` or `None`. A block to share; `None`
            makes a new one.
        feed_forward: `FeedForward` or `None`. Likewise.

    Call arguments:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: int or bool tensor of shape `(batch_size,
            sequence_length)`, 1 at real tokens; or `None`.
        training: bool. Whether dropout is active.

    Returns:
        Float tensor of the shape of `hidden`.

    Example:

    >>> layer = TransformerLayer(8, num_heads=2, intermediate_dim=11)
    >>> tuple(layer(layer(keras.ops.ones((3, 5, 8)))).shape)
    (3, 5, 8)

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3.1;
        Google's `attention_ffn_block` in `modeling.py`.
    """

    def __init__(
        self,
        hidden_dim,
        num_heads,
        intermediate_dim,
        activation="gelu_tanh",
        hidden_dropout=0.0,
        attention_dropout=0.0,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        self_attention=None,
        feed_forward=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

        self.self_attention = self_attention or SelfAttention(
            hidden_dim,
            num_heads,
            hidden_dropout=hidden_dropout,
            attention_dropout=attention_dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            dtype=self.dtype_policy,
            name="self_attention",
        )
        self.feed_forward = feed_forward or FeedForward(
            hidden_dim,
            intermediate_dim,
            activation=activation,
            hidden_dropout=hidden_dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def build(self, input_shape):
        for block in (self.self_attention, self.feed_forward):
            # A block handed in may have been built by its other owner.
            if not block.built:
                block.build(input_shape)

    def call(self, hidden, padding_mask=None, training=None):
        hidden = self.self_attention(
            hidden, padding_mask=padding_mask, training=training
        )
        return self.feed_forward(hidden, training=training)

    def compute_output_shape(self, hidden_shape, padding_mask_shape=None):
        return hidden_shape

    def get_config(self):
        # Blocks handed in are not part of the configuration: their owner
        # hands them in again.
        config = super().get_config()
        config.update(
            {
                "hidden_dim": self.hidden_dim,
                "num_heads": self.num_heads,
                "intermediate_dim": self.intermediate_dim,
                "activation": self.activation,
                "hidden_dropout": self.hidden_dropout,
                "attention_dropout": self.attention_dropout,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
            }
        )
        return config
