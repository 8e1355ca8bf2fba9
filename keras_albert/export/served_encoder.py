"""The encoder as a graph for machines that answer requests.

The numbers are the Keras model's, from fewer and larger operations: one
product for query, key and value, rows of tokens in place of the batch and
sequence axes (so that TensorFlow's optimizer joins product, bias and
activation), and layer calls written out one by one.

Shape letters: B batch, S sequence, T = B * S, E embedding, H hidden, N heads,
D per head.
"""

import keras
import tensorflow as tf

# The lowest finite float32: a row of minus infinities has no softmax.
LOWEST = -3.4028235e38

ACTIVATIONS = {
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "gelu_erf": lambda x: tf.nn.gelu(x, approximate=False),
    "relu": tf.nn.relu,
    "silu": tf.nn.silu,
    "tanh": tf.tanh,
}


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

        # Layers may have a block in common, which is copied once.
        layers = backbone.encoder.transformer_layers
        attentions = {id(x.self_attention): x.self_attention for x in layers}
        feed_forwards = {id(x.feed_forward): x.feed_forward for x in layers}
        places = {id_: i for i, id_ in enumerate(attentions)}
        self.attentions = [self._attention(x) for x in attentions.values()]
        self._attention_of = [places[id(x.self_attention)] for x in layers]
        places = {id_: i for i, id_ in enumerate(feed_forwards)}
        self.feed_forwards = [
            self._feed_forward(x) for x in feed_forwards.values()
        ]
        self._feed_forward_of = [places[id(x.feed_forward)] for x in layers]
        self._call_order = tuple(backbone.encoder.call_order)
        self._num_heads = backbone.num_heads
        self._activation = activations[backbone.activation]

    def _variable(self, value):
        value = keras.ops.convert_to_numpy(value)
        return tf.Variable(tf.cast(value, self.dtype), trainable=False)

    def _dense(self, layer):
        return Dense(self._variable(layer.kernel), self._variable(layer.bias))

    def _norm(self, layer):
        return LayerNorm(
            self._variable(layer.gamma),
            self._variable(layer.beta),
            layer.epsilon,
        )

    def _attention(self, block):
        # The scale of the scores goes into the query's weights.
        scale = block.head_dim**-0.5
        parts = (block.query, block.key, block.value)
        kernels = [keras.ops.convert_to_numpy(part.kernel) for part in parts]
        biases = [keras.ops.convert_to_numpy(part.bias) for part in parts]
        kernels[0], biases[0] = kernels[0] * scale, biases[0] * scale
        joined = Dense(
            self._variable(tf.concat(kernels, 1)),
            self._variable(tf.concat(biases, 0)),
        )
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
        for index in self._call_order:
            block = self.attentions[self._attention_of[index]]
            x = self._attend(block, x, bias, batch_size, length)
            block = self.feed_forwards[self._feed_forward_of[index]]
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


class Dense(tf.Module):
    """`x kernel + bias` on rows.

    Args:
        kernel: variable of shape `(inputs, outputs)`.
        bias: variable of shape `(outputs,)`.
    """

    def __init__(self, kernel, bias):
        super().__init__()
        self.kernel = kernel
        self.bias = bias

    def __call__(self, x):
        return tf.nn.bias_add(tf.matmul(x, self.kernel), self.bias)


class LayerNorm(tf.Module):
    """Normalises the last axis in float32.

    Args:
        gamma: variable of shape `(width,)`.
        beta: variable of shape `(width,)`.
        epsilon: float.
    """

    def __init__(self, gamma, beta, epsilon):
        super().__init__()
        self.gamma = gamma
        self.beta = beta
        self._epsilon = epsilon

    def __call__(self, x):
        exact = tf.cast(x, tf.float32)
        mean = tf.reduce_mean(exact, -1, keepdims=True)
        centred = exact - mean
        variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
        scale = tf.math.rsqrt(variance + self._epsilon)
        gamma = tf.cast(self.gamma, tf.float32)
        beta = tf.cast(self.beta, tf.float32)
        return tf.cast(centred * (scale * gamma) + beta, x.dtype)


class Block(tf.Module):
    """Two dense layers and the norm at the end of an encoder block.

    Args:
        first: `Dense` from H to the inner width.
        second: `Dense` back to H.
        norm: `LayerNorm`.
    """

    def __init__(self, first, second, norm):
        super().__init__()
        self.first = first
        self.second = second
        self.norm = norm
