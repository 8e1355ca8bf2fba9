"""The encoder as a graph for machines that answer requests.

The numbers are the Keras model's, from fewer and larger operations: one
product for query, key and value, rows of tokens in place of the batch and
sequence axes (so that TensorFlow's optimizer joins product, bias and
activation), and layer calls written out one by one.

Shape letters: B batch, S sequence, T = B * S, E embedding, H hidden, N heads,
D per head.
"""

import tensorflow as tf

from keras_albert.export.served_layers import ACTIVATIONS
from keras_albert.export.served_layers import Block
from keras_albert.export.served_layers import Dense
from keras_albert.export.served_layers import LayerNorm
from keras_albert.export.served_layers import variable
from keras_albert.export.weight_arrays import encoder_blocks
from keras_albert.export.weight_arrays import query_key_value

# The lowest finite float32: a row of minus infinities has no softmax.
LOWEST = -3.4028235e38


class ServedEncoder(tf.Module):
    """A copy of a backbone's weights and the graph that uses them.

    Args:
        backbone: `AlbertBackbone` on the TensorFlow backend, of any sharing
            policy. As many layer calls are made as are active in it.
        dtype: `"float32"` or `"bfloat16"`: the dtype in which the weights are
            held and the products are computed. Norms, softmax and results are
            float32 either way.
        activations: dict from the backbone's name of an activation to a
            function. Defaults to TensorFlow's own.

    Call arguments:
        token_ids: int32 tensor of shape `(batch_size, sequence_length)`.
        segment_ids: int32 tensor of that shape.
        padding_mask: int32 tensor of that shape, 1 at tokens.

    Returns:
        Float32 tensor of shape `(batch_size, sequence_length, hidden_dim)`.
    """

    def __init__(self, backbone, dtype="float32", activations=ACTIVATIONS):
        super().__init__()
        self.dtype = tf.as_dtype(dtype)
        self.hidden_dim = backbone.hidden_dim
        embeddings = backbone.embeddings
        self.tokens = self._variable(embeddings.token_embedding.embeddings)
        self.positions = self._variable(embeddings.position_embedding)
        self.segments = self._variable(embeddings.segment_embedding.embeddings)
        self.embedding_norm = self._norm(embeddings.layer_norm)
        self.projection = None
        if embeddings.projection is not None:
            self.projection = self._dense(embeddings.projection)
        self.pooler = self._dense(backbone.pooler)

        blocks = encoder_blocks(backbone)
        self.attentions = [self._attention(x) for x in blocks.attentions]
        self.feed_forwards = [
            self._feed_forward(x) for x in blocks.feed_forwards
        ]
        self._calls = blocks.calls
        self._num_heads = backbone.num_heads
        self._activation = activations[backbone.activation]

    def _variable(self, value):
        return variable(value, self.dtype)

    def _dense(self, layer):
        return Dense.of(layer, self.dtype)

    def _norm(self, layer):
        return LayerNorm.of(layer, self.dtype)

    def _attention(self, block):
        joined = Dense(*query_key_value(block), self.dtype)
        output = self._dense(block.attention_output)
        return Block(joined, output, self._norm(block.layer_norm))

    def _feed_forward(self, block):
        return Block(
            self._dense(block.intermediate),
            self._dense(block.feed_forward_output),
            self._norm(block.layer_norm),
        )

    def __call__(self, token_ids, segment_ids, padding_mask):
        batch_size, length = tf.unstack(tf.shape(token_ids))
        bias = tf.where(padding_mask > 0, 0.0, LOWEST)[:, None, None, :]
        x = self._embed(token_ids, segment_ids)  # (T, H)
        for attention, feed_forward in self._calls:
            block = self.attentions[attention]
            x = self._attend(block, x, bias, batch_size, length)
            block = self.feed_forwards[feed_forward]
            inner = self._activation(block.first(x))  # (T, H) -> (T, F)
            x = block.norm(x + block.second(inner))
        x = tf.reshape(x, [batch_size, length, self.hidden_dim])
        return tf.cast(x, tf.float32)

    def _embed(self, token_ids, segment_ids):
        x = tf.gather(self.tokens, token_ids)  # (B, S) -> (B, S, E)
        x += self.positions[None, : tf.shape(token_ids)[1]]
        x += tf.gather(self.segments, segment_ids)
        x = tf.reshape(x, [-1, self.tokens.shape[1]])
        x = self.embedding_norm(x)
        return x if self.projection is None else self.projection(x)

    def _attend(self, block, x, bias, batch_size, length):
        heads = self._num_heads
        shape = [batch_size, length, 3, heads, self.hidden_dim // heads]
        # (T, 3H) -> three of (B, N, S, D)
        joined = tf.reshape(block.first(x), shape)
        query, key, value = tf.unstack(tf.transpose(joined, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query, key, transpose_b=True)  # (B, N, S, S)
        weights = tf.nn.softmax(tf.cast(scores, tf.float32) + bias)
        context = tf.matmul(tf.cast(weights, self.dtype), value)
        context = tf.reshape(
            tf.transpose(context, [0, 2, 1, 3]), [-1, self.hidden_dim]
        )
        return block.norm(x + block.second(context))

    def pooled(self, hidden):
        """The pooler's vector, of the first position.

        Args:
            hidden: float32 tensor of shape `(batch_size, sequence_length,
                hidden_dim)`.

        Returns:
            Float32 tensor of shape `(batch_size, hidden_dim)`.
        """
        first = tf.cast(hidden[:, 0], self.dtype)
        return tf.tanh(tf.cast(self.pooler(first), tf.float32))
