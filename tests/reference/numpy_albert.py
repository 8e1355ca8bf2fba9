"""ALBERT's forward pass in float64 NumPy, written from the paper.

An independent judge: it knows nothing of Keras and takes plain arrays.
Weights of a block are a dict of arrays; a layer call is a pair of blocks.
"""

import numpy as np


def layer_norm(x, gamma, beta, epsilon=1e-12):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def self_attention(x, padding_mask, block, num_heads):
    batch, length, hidden = x.shape
    heads = (batch, length, num_heads, hidden // num_heads)
    query = (x @ block["query/kernel"] + block["query/bias"]).reshape(heads)
    key = (x @ block["key/kernel"] + block["key/bias"]).reshape(heads)
    value = (x @ block["value/kernel"] + block["value/bias"]).reshape(heads)
    scores = np.einsum("bqnd,bknd->bnqk", query, key) / np.sqrt(heads[-1])
    # Google's way: a large negative number added to masked positions.
    scores = scores + (1 - padding_mask[:, None, None, :]) * -1e9
    mixed = np.einsum("bnqk,bknd->bqnd", softmax(scores), value)
    output = (
        mixed.reshape(x.shape) @ block["attention_output/kernel"]
        + block["attention_output/bias"]
    )
    return layer_norm(
        x + output, block["layer_norm/gamma"], block["layer_norm/beta"]
    )


def feed_forward(x, block):
    inner = gelu_tanh(
        x @ block["intermediate/kernel"] + block["intermediate/bias"]
    )
    output = (
        inner @ block["feed_forward_output/kernel"]
        + block["feed_forward_output/bias"]
    )
    return layer_norm(
        x + output, block["layer_norm/gamma"], block["layer_norm/beta"]
    )


def encoder(x, padding_mask, calls, num_heads):
    """Returns each call's output; `calls` is a list of block pairs."""
    outputs = []
    for attention_block, feed_forward_block in calls:
        x = self_attention(x, padding_mask, attention_block, num_heads)
        x = feed_forward(x, feed_forward_block)
        outputs.append(x)
    return outputs
