"""The encoder: few distinct blocks, called in the order of a schedule.

layer_schedule  ->  [(attention, feed_forward), ...]   one entry per call
blocks          ->  one SelfAttention / FeedForward per distinct index
layers          ->  one TransformerLayer per distinct pair of blocks
call            ->  layers in schedule order, runs of one layer as a loop
"""

import itertools

import keras

from keras_albert.layers.feed_forward import FeedForward
from keras_albert.layers.layer_loop import call_layer
from keras_albert.layers.layer_loop import repeat_layer
from keras_albert.layers.layer_schedule import layer_schedule
from keras_albert.layers.layer_schedule import shallow_calls
from keras_albert.layers.self_attention import SelfAttention
from keras_albert.layers.transformer_layer import TransformerLayer


@keras.saving.register_keras_serializable("keras_albert")
class SharedEncoder(keras.layers.Layer):
    """A stack of `num_layers` layer calls over shared weights.

    Args:
        num_layers: int. Number of group calls; with `num_inner_repetitions`
            of 1, the depth.
        num_heads: int. Divides `hidden_dim`.
        hidden_dim: int. H.
        intermediate_dim: int. Width inside the feed-forward blocks.
        sharing: string. `"all"`, `"attention"`, `"ffn"` or `"none"`, see
            `layer_schedule`. Defaults to `"all"`.
        num_groups: int. Defaults to 1.
        num_inner_repetitions: int. Defaults to 1.
        activation: string. Defaults to `"gelu_tanh"`.
        hidden_dropout: float. Defaults to `0.0`.
        attention_dropout: float. Defaults to `0.0`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.
        unroll: bool. `True` traces each call; `False` compiles one body for
            all consecutive calls of a layer, so that compile time does not
            grow with the depth. Equal numbers either way; on CPUs the loop
            makes a training step of 12 calls 1.1 (TensorFlow) or 1.2 times
            (JAX) as long. Defaults to `True`.
        remat: bool. Recompute a call's activations in the backward pass, so
            that memory holds one call's at a time. JAX's compiler for CPUs
            undoes that unless `unroll` is `False`. Defaults to `False`.

    Call arguments:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: int or bool tensor of shape `(batch_size,
            sequence_length)`, 1 at real tokens; or `None`.
        training: bool. Whether dropout is active.
        return_all_layers: bool. Whether to return every call's output. This
            unrolls the calls.

    Returns:
        Float tensor of the shape of `hidden`, or the list of these tensors,
        one per layer call.

    Example:

    >>> encoder = SharedEncoder(
    ...     num_layers=4, num_heads=2, hidden_dim=8, intermediate_dim=11
    ... )
    >>> tuple(encoder(keras.ops.ones((3, 5, 8))).shape)
    (3, 5, 8)
    >>> len(encoder.transformer_layers)
    1

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3.1 and
        Table 4; Google's `transformer_model` in `modeling.py`.
    """

    def __init__(
        self,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        sharing="all",
        num_groups=1,
        num_inner_repetitions=1,
        activation="gelu_tanh",
        hidden_dropout=0.0,
        attention_dropout=0.0,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        unroll=True,
        remat=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        schedule = layer_schedule(
            sharing, num_layers, num_groups, num_inner_repetitions
        )
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.sharing = sharing
        self.num_groups = num_groups
        self.num_inner_repetitions = num_inner_repetitions
        self.activation = activation
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.unroll = unroll
        self.remat = remat

        attentions = {
            index: self._make_attention(f"self_attention_{index}")
            for index, _ in schedule
        }
        feed_forwards = {
            index: self._make_feed_forward(f"feed_forward_{index}")
            for _, index in schedule
        }
        # dict.fromkeys: the distinct pairs in order of their first call.
        pairs = list(dict.fromkeys(schedule))
        self._pairs = pairs
        self.transformer_layers = [
            self._make_layer(
                attentions[attention],
                feed_forwards[feed_forward],
                name=f"transformer_layer_{index}",
            )
            for index, (attention, feed_forward) in enumerate(pairs)
        ]
        self.active_layers = num_layers

    @property
    def active_layers(self):
        """How many of the `num_layers` group calls are made.

        Depth costs no weights where they are shared, so it may change during
        training or for cheaper inference. A function that was traced or
        compiled before keeps its depth. Not part of the configuration: a
        loaded model has all its layers.
        """
        return self._active_layers

    @active_layers.setter
    def active_layers(self, count):
        if not self.num_groups <= count <= self.num_layers:
            raise ValueError(
                f"`active_layers` must lie between {self.num_groups} "
                f"(`num_groups`) and {self.num_layers} (`num_layers`). "
                f"Received: active_layers={count}."
            )
        self._active_layers = count
        schedule = layer_schedule(
            self.sharing,
            self.num_layers,
            self.num_groups,
            self.num_inner_repetitions,
        )
        inner = self.num_inner_repetitions
        self.call_order = [
            self._pairs.index(pair)
            for call in shallow_calls(self.num_layers, count, self.num_groups)
            for pair in schedule[call * inner : (call + 1) * inner]
        ]

    def _make_attention(self, name):
        return SelfAttention(
            self.hidden_dim,
            self.num_heads,
            hidden_dropout=self.hidden_dropout,
            attention_dropout=self.attention_dropout,
            layer_norm_epsilon=self.layer_norm_epsilon,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name=name,
        )

    def _make_feed_forward(self, name):
        return FeedForward(
            self.hidden_dim,
            self.intermediate_dim,
            activation=self.activation,
            hidden_dropout=self.hidden_dropout,
            layer_norm_epsilon=self.layer_norm_epsilon,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name=name,
        )

    def _make_layer(self, self_attention, feed_forward, name):
        return TransformerLayer(
            self.hidden_dim,
            self.num_heads,
            self.intermediate_dim,
            activation=self.activation,
            hidden_dropout=self.hidden_dropout,
            attention_dropout=self.attention_dropout,
            layer_norm_epsilon=self.layer_norm_epsilon,
            initializer_range=self.initializer_range,
            self_attention=self_attention,
            feed_forward=feed_forward,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, input_shape):
        for layer in self.transformer_layers:
            layer.build(input_shape)

    def call(
        self,
        hidden,
        padding_mask=None,
        training=None,
        return_all_layers=False,
    ):
        if return_all_layers:
            return self._call_all_layers(hidden, padding_mask, training)
        for index, run in itertools.groupby(self.call_order):
            hidden = repeat_layer(
                self.transformer_layers[index],
                hidden,
                padding_mask,
                training,
                count=len(list(run)),
                unroll=self.unroll,
                remat=self.remat,
            )
        return hidden

    def _call_all_layers(self, hidden, padding_mask, training):
        outputs = []
        for index in self.call_order:
            hidden = call_layer(
                self.transformer_layers[index],
                hidden,
                padding_mask,
                training,
                remat=self.remat,
            )
            outputs.append(hidden)
        return outputs

    def compute_output_spec(
        self,
        hidden,
        padding_mask=None,
        training=None,
        return_all_layers=False,
    ):
        def spec():
            return keras.KerasTensor(hidden.shape, dtype=self.compute_dtype)

        if return_all_layers:
            return [spec() for _ in self.call_order]
        return spec()

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "num_layers": self.num_layers,
                "num_heads": self.num_heads,
                "hidden_dim": self.hidden_dim,
                "intermediate_dim": self.intermediate_dim,
                "sharing": self.sharing,
                "num_groups": self.num_groups,
                "num_inner_repetitions": self.num_inner_repetitions,
                "activation": self.activation,
                "hidden_dropout": self.hidden_dropout,
                "attention_dropout": self.attention_dropout,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
                "unroll": self.unroll,
                "remat": self.remat,
            }
        )
        return config
