"""The module from token ids to numbers, for PyTorch without Keras.

Shape letters: B batch, S sequence, E embedding, H hidden, N heads, D per
head, P places of masks, V vocabulary.
"""

import functools

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from keras_albert.export.weight_arrays import dense_arrays
from keras_albert.export.weight_arrays import encoder_blocks
from keras_albert.export.weight_arrays import float_array
from keras_albert.export.weight_arrays import norm_arrays
from keras_albert.export.weight_arrays import query_key_value

ACTIVATIONS = {
    "gelu_tanh": functools.partial(functional.gelu, approximate="tanh"),
    "gelu_erf": functional.gelu,
    "relu": functional.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
}


class TorchModel(nn.Module):
    """A copy of a model's weights, and its function of token ids.

    Args:
        task: `ServedTask`.
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`,
            on any backend.

    Call arguments:
        token_ids: int32 tensor of shape `(batch_size, sequence_length)`.
        segment_ids: int32 tensor of that shape.
        padding_mask: int32 tensor of that shape, 1 at tokens.
        mask_positions: int32 tensor of shape `(batch_size, num_masks)`, a
            pretrainer's only.

    Returns:
        Dict of float32 tensors, see `token_signature`.
    """

    def __init__(self, task, model):
        super().__init__()
        self._kind = task.kind
        backbone = getattr(model, "backbone", model)
        self.encoder = Encoder(backbone)
        self.pooler = dense(backbone.pooler)
        if task.kind in ("classifier", "regressor"):
            self.head = dense(model.logits)
            self._activation = getattr(model.activation, "__name__", "linear")
        if task.kind == "pretrainer":
            self.head = dense(model.sentence_order_head.logits)
            self.token_scores = TokenScores(model.masked_lm_head)

    def weight_bytes(self):
        """Bytes of all weights, each counted once."""
        return sum(p.numel() * p.element_size() for p in self.parameters())

    def forward(
        self, token_ids, segment_ids, padding_mask, mask_positions=None
    ):
        hidden = self.encoder(token_ids, segment_ids, padding_mask)
        pooled = torch.tanh(self.pooler(hidden[:, 0]))  # (B, S, H) -> (B, H)
        if self._kind == "backbone":
            return {
                "sequence_output": hidden,
                "pooled": pooled,
                "mean_pooled": mean_of_tokens(hidden, padding_mask),
            }
        values = self.head(pooled)
        if self._kind == "classifier":
            return {"probabilities": torch.softmax(values, -1)}
        if self._kind == "regressor":
            value = values[:, 0]
            if self._activation == "sigmoid":
                value = torch.sigmoid(value)
            return {"value": value}
        table = self.encoder.tokens
        return {
            "masked_lm": self.token_scores(hidden, mask_positions, table),
            "sentence_order": values,
        }


class Encoder(nn.Module):
    """Embeddings and layer calls: `AlbertBackbone`'s `sequence_output`.

    Args:
        backbone: `AlbertBackbone`, of any backend and sharing policy. As many
            layer calls are made as are active in it.
    """

    def __init__(self, backbone):
        super().__init__()
        embeddings = backbone.embeddings
        self.tokens = weight(embeddings.token_embedding.embeddings)
        self.positions = weight(embeddings.position_embedding)
        self.segments = weight(embeddings.segment_embedding.embeddings)
        self.embedding_norm = norm(embeddings.layer_norm)
        self.projection = None
        if embeddings.projection is not None:
            self.projection = dense(embeddings.projection)
        blocks = encoder_blocks(backbone)
        self.attentions = nn.ModuleList(map(Attention, blocks.attentions))
        self.feed_forwards = nn.ModuleList(
            FeedForward(block, ACTIVATIONS[backbone.activation])
            for block in blocks.feed_forwards
        )
        self._calls = blocks.calls

    def forward(self, token_ids, segment_ids, padding_mask):
        x = functional.embedding(token_ids, self.tokens)  # (B, S) -> (B, S, E)
        x = x + self.positions[: token_ids.shape[1]]
        x = x + functional.embedding(segment_ids, self.segments)
        x = self.embedding_norm(x)
        if self.projection is not None:
            x = self.projection(x)  # (B, S, E) -> (B, S, H)
        # The lowest finite number: a row of minus infinities has no softmax.
        lowest = torch.finfo(x.dtype).min
        bias = torch.where(padding_mask > 0, 0.0, lowest)[:, None, None, :]
        for attention, feed_forward in self._calls:
            x = self.attentions[attention](x, bias)
            x = self.feed_forwards[feed_forward](x)
        return x


class Attention(nn.Module):
    """`SelfAttention`, query, key and value in one product."""

    def __init__(self, block):
        super().__init__()
        self.query_key_value = Dense(*query_key_value(block))
        self.output = dense(block.attention_output)
        self.norm = norm(block.layer_norm)
        self._num_heads = block.num_heads

    def forward(self, x, bias):
        # (B, S, 3H) -> three of (B, N, S, D)
        joined = self.query_key_value(x).unflatten(-1, (3, self._num_heads, -1))
        query, key, value = joined.permute(2, 0, 3, 1, 4).unbind(0)
        context = functional.scaled_dot_product_attention(
            # The scale is in the query's weights.
            *(query, key, value, bias),
            scale=1.0,
        )
        context = context.transpose(1, 2).flatten(2)  # (B, S, H)
        return self.norm(x + self.output(context))


class FeedForward(nn.Module):
    """The Keras layer of this name."""

    def __init__(self, block, activation):
        super().__init__()
        self.first = dense(block.intermediate)
        self.second = dense(block.feed_forward_output)
        self.norm = norm(block.layer_norm)
        self._activation = activation

    def forward(self, x):
        return self.norm(x + self.second(self._activation(self.first(x))))


class TokenScores(nn.Module):
    """`MaskedLMHead`; the table is the encoder's, and held there."""

    def __init__(self, head):
        super().__init__()
        self.transform = dense(head.transform)
        self.norm = norm(head.layer_norm)
        self.bias = weight(head.output_bias)
        self._activation = ACTIVATIONS[head.activation]

    def forward(self, hidden, mask_positions, table):
        places = mask_positions.long()[:, :, None]
        # (B, S, H) -> (B, P, H)
        x = hidden.gather(1, places.expand(-1, -1, hidden.shape[-1]))
        x = self.norm(self._activation(self.transform(x)))  # (B, P, E)
        return functional.linear(x, table, self.bias)  # (B, P, V)


class Dense(nn.Module):
    """`x kernel + bias`.

    Args:
        kernel: array of shape `(inputs, outputs)`.
        bias: array of shape `(outputs,)`.
    """

    def __init__(self, kernel, bias):
        super().__init__()
        self.weight = weight(kernel.T)
        self.bias = weight(bias)

    def forward(self, x):
        return functional.linear(x, self.weight, self.bias)


class LayerNorm(nn.Module):
    """Normalises the last axis.

    Args:
        gamma: array of shape `(width,)`.
        beta: array of shape `(width,)`.
        epsilon: float.
    """

    def __init__(self, gamma, beta, epsilon):
        super().__init__()
        self.gamma = weight(gamma)
        self.beta = weight(beta)
        self._epsilon = epsilon

    def forward(self, x):
        return functional.layer_norm(
            x, self.gamma.shape, self.gamma, self.beta, self._epsilon
        )


def mean_of_tokens(hidden, padding_mask):
    """Averages the vectors of a row's tokens; zeros where there are none.

    Args:
        hidden: float32 tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: int32 tensor of shape `(batch_size, sequence_length)`.

    Returns:
        Float32 tensor of shape `(batch_size, H)`.
    """
    weights = (padding_mask > 0).to(hidden.dtype)[:, :, None]
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)


def dense(layer):
    """Copies a Keras `Dense`."""
    return Dense(*dense_arrays(layer))


def norm(layer):
    """Copies a Keras `LayerNormalization`."""
    return LayerNorm(*norm_arrays(layer), layer.epsilon)


def weight(value):
    """A parameter, not to be trained, that holds a copy.

    Args:
        value: array, or variable of any backend.
    """
    # In the order in which it is stored.
    array = np.ascontiguousarray(float_array(value))
    return nn.Parameter(torch.tensor(array), requires_grad=False)
