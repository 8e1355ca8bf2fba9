"""A model's weights as NumPy arrays, the way the exported graphs use them.

The one place that knows which Keras layer holds what. Each function reads as
it is called, so that no second copy of the model is in the memory.

Shape letters: H hidden.
"""

import dataclasses

import keras
import numpy as np


@dataclasses.dataclass(frozen=True)
class EncoderBlocks:
    """The encoder's distinct blocks and the order in which they are called.

    Args:
        attentions: list of `SelfAttention`, each once.
        feed_forwards: list of `FeedForward`, each once.
        calls: tuple of `(attention, feed_forward)`, places in these lists,
            one for each active layer call.
    """

    attentions: list
    feed_forwards: list
    calls: tuple


def encoder_blocks(backbone):
    """Finds the blocks; layers may have one in common.

    Args:
        backbone: `AlbertBackbone`, of any sharing policy. As many layer calls
            are listed as are active in it.

    Returns:
        `EncoderBlocks`.
    """
    layers = backbone.encoder.transformer_layers
    attentions = {id(x.self_attention): x.self_attention for x in layers}
    feed_forwards = {id(x.feed_forward): x.feed_forward for x in layers}
    attention_places = {key: i for i, key in enumerate(attentions)}
    feed_forward_places = {key: i for i, key in enumerate(feed_forwards)}
    called = [layers[index] for index in backbone.encoder.call_order]
    calls = tuple(
        (
            attention_places[id(x.self_attention)],
            feed_forward_places[id(x.feed_forward)],
        )
        for x in called
    )
    return EncoderBlocks(
        list(attentions.values()), list(feed_forwards.values()), calls
    )


def float_array(value):
    """A variable of any backend as a float32 array."""
    return keras.ops.convert_to_numpy(value).astype("float32", copy=False)


def dense_arrays(layer):
    """`(kernel, bias)` of a `Dense`, shapes `(inputs, outputs)` and
    `(outputs,)`."""
    return float_array(layer.kernel), float_array(layer.bias)


def norm_arrays(layer):
    """`(gamma, beta)` of a `LayerNormalization`."""
    return float_array(layer.gamma), float_array(layer.beta)


def query_key_value(block):
    """The three projections of a `SelfAttention` as one.

    The scale of the scores goes into the query's weights.

    Args:
        block: `SelfAttention`.

    Returns:
        `(kernel, bias)` of shapes `(H, 3H)` and `(3H,)`.
    """
    parts = (block.query, block.key, block.value)
    kernels, biases = zip(*map(dense_arrays, parts), strict=True)
    scales = (block.head_dim**-0.5, 1.0, 1.0)
    scaled = zip(scales, kernels, biases, strict=True)
    kernels, biases = zip(*((s * k, s * b) for s, k, b in scaled), strict=True)
    return np.concatenate(kernels, 1), np.concatenate(biases, 0)
