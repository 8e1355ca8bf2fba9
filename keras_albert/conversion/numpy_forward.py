"""The forward pass of an ALBERT in NumPy, straight from a checkpoint.

Formats whose own code nobody can run any more are checked against this: it
reads the file anew and shares nothing with our layers.

Shape letters: B batch, S sequence, E embedding, H hidden, N heads, D per head.
"""

import math

import numpy as np

# All weights of the base size; of the largest, those read often.
KEPT_BYTES = 2**26


def numpy_outputs(source, inputs):
    """Computes what a checkpoint answers.

    Args:
        source: `Source`.
        inputs: dict of int arrays of shape `(B, S)`: `token_ids`,
            `segment_ids` and `padding_mask`.

    Returns:
        Dict of float32 arrays: `sequence_output` (B, S, H) and, where the
        checkpoint has their weights, `pooled_output` (B, H), `masked_lm`
        (B, S, vocabulary), `sentence_order` (B, 2) and `classifier`
        (B, classes), all logits.
    """
    weights = _Weights(source)
    arguments = source.arguments
    epsilon = arguments.get("layer_norm_epsilon", 1e-12)
    activation = ACTIVATIONS[arguments["activation"]]
    x = _embed(weights, inputs, epsilon)
    layers, groups = arguments["num_layers"], arguments.get("num_groups", 1)
    for call in range(layers):
        for inner in range(arguments.get("num_inner_repetitions", 1)):
            scope = f"layers/{call * groups // layers}/{inner}"
            x = _layer(
                weights,
                scope,
                x,
                inputs["padding_mask"],
                arguments["num_heads"],
                activation,
                epsilon,
            )
    return {
        "sequence_output": x,
        **_heads(weights, x, activation, epsilon),
    }


def _heads(weights, sequence, activation, epsilon):
    outputs = {}
    if weights.has("pooler"):
        pooled = np.tanh(weights.dense("pooler", sequence[:, 0]))
        outputs["pooled_output"] = pooled
        for head in ("sentence_order", "classifier"):
            if weights.has(head):
                outputs[head] = weights.dense(head, pooled)
    if weights.has("masked_lm/transform"):
        x = activation(weights.dense("masked_lm/transform", sequence))
        x = weights.norm("masked_lm/norm", x, epsilon)
        table = weights["embeddings/tokens/table"]
        outputs["masked_lm"] = x @ table.T + weights["masked_lm/output/bias"]
    return outputs


def _embed(weights, inputs, epsilon):
    length = inputs["token_ids"].shape[1]
    x = weights["embeddings/tokens/table"][inputs["token_ids"]]
    x = x + weights["embeddings/positions/table"][:length]
    x = x + weights["embeddings/segments/table"][inputs["segment_ids"]]
    x = weights.norm("embeddings/norm", x, epsilon)
    if weights.has("embeddings/projection"):
        x = weights.dense("embeddings/projection", x)
    return x


def _layer(weights, scope, x, mask, num_heads, activation, epsilon):
    attended = _attention(weights, scope, x, mask, num_heads)
    attended = weights.dense(f"{scope}/attention_output", attended)
    x = weights.norm(f"{scope}/attention_norm", x + attended, epsilon)
    y = activation(weights.dense(f"{scope}/intermediate", x))
    y = weights.dense(f"{scope}/feed_forward_output", y)
    return weights.norm(f"{scope}/feed_forward_norm", x + y, epsilon)


def _attention(weights, scope, x, mask, num_heads):
    def heads(name):  # (B, S, H) -> (B, N, S, D)
        y = weights.dense(f"{scope}/{name}", x)
        return y.reshape(*y.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    scores = np.where(mask[:, None, None, :] > 0, scores, -1e30)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    return (scores @ value).transpose(0, 2, 1, 3).reshape(x.shape)


class _Weights:
    """Arrays by our names: small ones kept, large ones read at each use."""

    def __init__(self, source):
        self._source = source
        self._arrays = {}
        self._kept = 0
        self._hidden = source.arguments["hidden_dim"]

    def has(self, scope):
        return self._source.has(f"{scope}/kernel")

    def __getitem__(self, name):
        return self._get(name)

    def dense(self, scope, x):
        return x @ self[f"{scope}/kernel"] + self[f"{scope}/bias"]

    def norm(self, scope, x, epsilon):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        x = (x - mean) / np.sqrt(variance + epsilon)
        return x * self[f"{scope}/gamma"] + self[f"{scope}/beta"]

    def _get(self, name):
        if name in self._arrays:
            return self._arrays[name]
        array = self._source.read(name)
        if array is not None:
            array = self._matrix(name, np.asarray(array, "float32"))
        size = 0 if array is None else array.nbytes
        if self._kept + size <= KEPT_BYTES:
            self._arrays[name] = array
            self._kept += size
        return array

    def _matrix(self, name, array):
        """Brings (H, N, D), (N, D, H) and (N, D) to (H, H) and (H,)."""
        if array.ndim == 3:
            return array.reshape(self._hidden, self._hidden)
        if name.endswith("/bias"):
            return array.reshape(-1)
        return array


def _gelu_tanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def _gelu_erf(x):
    erf = np.vectorize(math.erf, otypes=["float32"])
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


ACTIVATIONS = {
    "gelu_tanh": _gelu_tanh,
    "gelu_erf": _gelu_erf,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}
