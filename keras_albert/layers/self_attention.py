"""The attention block: self-attention, then add and norm.

Shape letters: B batch, S sequence, H hidden, N heads, D per head.
"""

import keras
from keras import ops

from keras_albert.layers.dropout import Dropout
from keras_albert.layers.initialization import kernel_initializer
from keras_albert.layers.layer_normalization import LayerNormalization
from keras_albert.layers.recomputation import is_recomputed_whole
from keras_albert.layers.recomputation import recomputed
from keras_albert.layers.rows import as_rows
from keras_albert.layers.rows import as_sequences
from keras_albert.layers.tpu_attention import has_tpu_kernel
from keras_albert.layers.tpu_attention import is_tpu
from keras_albert.layers.tpu_attention import tpu_attention

# On two cores forward and backward pass of 1024 tokens in bfloat16 take 8, 10
# and 21 ms at lengths 64, 128 and 256; fused 32, 18 and 18.
LONGEST_UNFUSED = 128


def attention_weights(query, key, attention_mask):
    """Returns how much each position attends to each other one.

    `softmax(query key^T / sqrt(D))` in float32, whatever the inputs' dtype.
    A masked position gets exactly zero; a row with nothing but masked
    positions attends to all of them equally, so that it is never NaN.

    Args:
        query: float tensor of shape `(batch_size, length, heads, head_dim)`.
        key: float tensor of the same shape.
        attention_mask: bool tensor broadcastable to `(batch_size, heads,
            length, length)`, true where attention is allowed; or `None`.

    Returns:
        Tensor of shape `(batch_size, heads, length, length)` in the dtype of
        `query`; the last axis sums to one.
    """
    scale = float(query.shape[-1]) ** -0.5
    scores = ops.einsum("bqnd,bknd->bnqk", query * scale, key)
    return _masked_softmax(scores, attention_mask)


def attention_context(query, key, value, attention_mask):
    """Returns the mean of the values, weighted by `attention_weights`.

    For the backward pass it keeps the three inputs and computes the weights,
    which are as many as heads times squared length, again.

    Args:
        query: float tensor of shape `(batch_size, length, heads, head_dim)`.
        key: float tensor of the same shape.
        value: float tensor of the same shape.
        attention_mask: as `attention_weights`.

    Returns:
        Float tensor of the shape of `value`.
    """

    tensors = [query, key, value]
    if attention_mask is not None:
        # Not closed over: a function with a gradient of its own may stand in
        # a loop of JAX's. As a float it has a gradient, like all arguments.
        tensors.append(ops.cast(attention_mask, "float32"))

    def weights_of(query, key, mask):
        return attention_weights(query, key, mask[0] > 0 if mask else None)

    def function(query, key, value, *mask):
        weights = weights_of(query, key, mask)
        return ops.einsum("bnqk,bknd->bqnd", weights, value)

    def gradient(upstream, query, key, value, *mask):
        weights = weights_of(query, key, mask)
        by_value = ops.einsum("bnqk,bqnd->bknd", weights, upstream)
        slope = ops.einsum("bqnd,bknd->bnqk", upstream, value)
        weights, slope = (ops.cast(x, "float32") for x in (weights, slope))
        slope = weights * (
            slope - ops.sum(weights * slope, axis=-1, keepdims=True)
        )
        scale = float(query.shape[-1]) ** -0.5
        slope = ops.cast(slope * scale, query.dtype)
        by_query = ops.einsum("bnqk,bknd->bqnd", slope, key)
        by_key = ops.einsum("bnqk,bqnd->bknd", slope, query)
        return by_query, by_key, by_value, *map(ops.zeros_like, mask)

    return recomputed(function, gradient)(*tensors)


def attention_with_kept_weights(query, key, value, attention_mask):
    """Returns `attention_context`, keeping the weights in the inputs' dtype.

    For PyTorch on CPUs, whose fused kernel takes twice as long for short
    16-bit sequences. Differentiated step by step, the weights would be kept
    in float32, too.

    Args and Returns: as `attention_context`.
    """
    scale = float(query.shape[-1]) ** -0.5

    @ops.custom_gradient
    def attend(query, key, value):
        scores = ops.matmul(query * scale, _transposed(key))
        weights = _masked_softmax(scores, attention_mask)

        def backward(*_, upstream):
            by_value = ops.matmul(_transposed(weights), upstream)
            slope = ops.matmul(upstream, _transposed(value))
            share = ops.cast(weights, "float32")
            slope = share * slope
            slope = slope - share * ops.sum(slope, axis=-1, keepdims=True)
            slope = ops.cast(slope * scale, query.dtype)
            by_query = ops.matmul(slope, key)
            return by_query, ops.matmul(_transposed(slope), query), by_value

        return ops.matmul(weights, value), backward

    # (B, S, N, D) -> (B, N, S, D) and back
    tensors = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
    return ops.transpose(attend(*tensors), (0, 2, 1, 3))


def _transposed(x):
    return ops.transpose(x, (0, 1, 3, 2))


def _masked_softmax(scores, attention_mask):
    dtype = scores.dtype
    scores = ops.cast(scores, "float32")
    if attention_mask is not None:
        # The lowest finite float, not minus infinity: a row of minus
        # infinities has no softmax.
        lowest = -3.4028235e38
        scores = ops.where(attention_mask, scores, lowest)
    return ops.cast(ops.softmax(scores, axis=-1), dtype)


@keras.saving.register_keras_serializable("keras_albert")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention with its own residual and normalisation.

    `layer_norm(x + dropout(output(attention(x))))`, the first half of a
    post-norm Transformer layer. It is a block of its own so that a sharing
    policy can reuse it and not the feed-forward block.

    Args:
        hidden_dim: int. H, a multiple of `num_heads`.
        num_heads: int. Number of heads.
        hidden_dropout: float. Rate on the block's output before the residual
            is added. Defaults to `0.0`.
        attention_dropout: float. Rate on the attention weights. Defaults to
            `0.0`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.

    Call arguments:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: int or bool tensor of shape `(batch_size,
            sequence_length)`, true (1) at real tokens; `None` means all real.
        training: bool. Whether dropout is active.

    Returns:
        Float tensor of the shape of `hidden`.

    Raises:
        ValueError: if `num_heads` does not divide `hidden_dim`.

    Example:

    >>> block = SelfAttention(hidden_dim=8, num_heads=2)
    >>> tuple(block(keras.ops.ones((3, 5, 8))).shape)
    (3, 5, 8)

    Reference:
        Google's `attention_layer` and `attention_ffn_block` in `modeling.py`;
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.2.
    """

    def __init__(
        self,
        hidden_dim,
        num_heads,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if hidden_dim % num_heads:
            raise ValueError(
                "`num_heads` must divide `hidden_dim`. Received: "
                f"num_heads={num_heads}, hidden_dim={hidden_dim}. The "
                "published models use 64 units per head (128 in xlarge)."
            )
        self.hidden_dim = hidden_dim
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

        def dense(name):
            return keras.layers.Dense(
                hidden_dim,
                kernel_initializer=kernel_initializer(initializer_range),
                dtype=self.dtype_policy,
                name=name,
            )

        self.query = dense("query")
        self.key = dense("key")
        self.value = dense("value")
        self.attention_output = dense("attention_output")
        self.weights_dropout = Dropout(
            attention_dropout, dtype=self.dtype_policy, name="weights_dropout"
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
        for layer in (
            self.query,
            self.key,
            self.value,
            self.attention_output,
            self.layer_norm,
        ):
            layer.build(input_shape)

    def call(self, hidden, padding_mask=None, training=None):
        rows = as_rows(hidden)
        query, key, value = (
            as_sequences(project(rows), hidden)
            for project in (self.query, self.key, self.value)
        )
        context = self._attend(query, key, value, padding_mask, training)
        x = self.attention_output(as_rows(context))
        x = self.output_dropout(x, training=training)
        return as_sequences(self.layer_norm(rows + x), hidden)

    def _attend(self, query, key, value, padding_mask, training):
        # All of shape (B, S, H).
        can_fuse = self._can_fuse(training)
        length = query.shape[1]
        if can_fuse and has_tpu_kernel(length, self.num_heads, self.head_dim):
            return tpu_attention(query, key, value, padding_mask, self.head_dim)
        attention_mask = _broadcast_mask(padding_mask)
        query, key, value = map(self._split_heads, (query, key, value))
        unfused = training and _is_faster_unfused(query)
        if can_fuse and not _has_fused_kernel():
            context = attention_context(query, key, value, attention_mask)
        elif can_fuse and unfused and not is_recomputed_whole():
            context = attention_with_kept_weights(
                query, key, value, attention_mask
            )
        elif can_fuse and not unfused:
            context = ops.dot_product_attention(
                query, key, value, mask=attention_mask
            )
        else:
            weights = attention_weights(query, key, attention_mask)
            weights = self.weights_dropout(weights, training=training)
            context = ops.einsum("bnqk,bknd->bqnd", weights, value)
        # (B, S, N, D) -> (B, S, H)
        return ops.reshape(context, (*ops.shape(context)[:2], self.hidden_dim))

    def _split_heads(self, x):
        # (B, S, H) -> (B, S, N, D)
        return ops.reshape(
            x, (*ops.shape(x)[:2], self.num_heads, self.head_dim)
        )

    def _can_fuse(self, training):
        # Fused kernels have no dropout on the weights. JAX's has no float16
        # form on the CPU.
        drops = self.attention_dropout > 0 and training
        is_float16 = self.compute_dtype == "float16"
        return not drops and not (
            is_float16 and keras.backend.backend() == "jax"
        )

    def compute_output_shape(self, hidden_shape, padding_mask_shape=None):
        return hidden_shape

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "hidden_dim": self.hidden_dim,
                "num_heads": self.num_heads,
                "hidden_dropout": self.hidden_dropout,
                "attention_dropout": self.attention_dropout,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
            }
        )
        return config


def _broadcast_mask(padding_mask):
    if padding_mask is None:
        return None
    # (B, S) -> (B, 1, 1, S). A three-dimensional mask would broadcast over
    # heads, silently.
    return ops.cast(padding_mask, "bool")[:, None, None, :]


def _has_fused_kernel():
    """Whether Keras has attention that keeps no weights, or may have."""
    backend = keras.backend.backend()
    if backend == "jax":
        on_cpu = keras.distribution.list_devices()[0].startswith("cpu")
        return is_tpu() or not on_cpu
    return backend == "torch"


def _is_faster_unfused(query):
    """Whether PyTorch's fused attention is slow for a `(B, S, N, D)` query."""
    return (
        keras.backend.backend() == "torch"
        and query.device.type == "cpu"
        and keras.backend.standardize_dtype(query.dtype) != "float32"
        and query.shape[1] <= LONGEST_UNFUSED
    )
