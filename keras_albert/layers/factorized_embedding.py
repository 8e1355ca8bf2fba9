"""The factorized embedding: vocabulary x E, then E x H.

Shape letters: B batch, S sequence, E embedding, H hidden.
"""

import keras
from keras import ops

from keras_albert.layers.dropout import Dropout
from keras_albert.layers.initialization import kernel_initializer
from keras_albert.layers.layer_normalization import LayerNormalization


@keras.saving.register_keras_serializable("keras_albert")
class FactorizedEmbedding(keras.layers.Layer):
    """Embeds tokens, positions and segments in E and projects them to H.

    The vocabulary table is `(vocabulary_size, embedding_dim)` and a dense
    layer widens the sum to `hidden_dim`, so that a large vocabulary costs
    `V * E + E * H` weights and not `V * H`.

    Relative to Google's code: equal, the projection included, which exists
    only when E differs from H. Hugging Face and keras-hub always have it:
    pass `use_projection=True` for their checkpoints with E = H.

    Args:
        vocabulary_size: int. Number of token ids.
        embedding_dim: int. E.
        hidden_dim: int. H.
        max_sequence_length: int. Number of learned positions. Defaults to
            `512`.
        num_segments: int. Number of segment ids. Defaults to `2`.
        dropout: float. Rate on the normalised sum. Defaults to `0.0`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        use_projection: bool or None. `None` means "where E differs from H".
        initializer_range: float. Standard deviation of the truncated normal
            all tables and the kernel start from. Defaults to `0.02`.

    Call arguments:
        token_ids: int tensor of shape `(batch_size, sequence_length)`.
        segment_ids: int tensor of the same shape.
        training: bool. Whether dropout is active.

    Returns:
        Float tensor of shape `(batch_size, sequence_length, hidden_dim)`.

    Raises:
        ValueError: if E differs from H and `use_projection` is `False`, or if
            a sequence is longer than `max_sequence_length`.

    Example:

    >>> embedding = FactorizedEmbedding(11, embedding_dim=3, hidden_dim=8)
    >>> ids = keras.ops.zeros((2, 5), dtype="int32")
    >>> tuple(embedding(ids, segment_ids=ids).shape)
    (2, 5, 8)

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3.1.
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim,
        hidden_dim,
        max_sequence_length=512,
        num_segments=2,
        dropout=0.0,
        layer_norm_epsilon=1e-12,
        use_projection=None,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if embedding_dim != hidden_dim and use_projection is False:
            raise ValueError(
                "`use_projection=False` needs embedding_dim == hidden_dim. "
                f"Received: embedding_dim={embedding_dim}, "
                f"hidden_dim={hidden_dim}. Leave `use_projection` out."
            )
        self.vocabulary_size = vocabulary_size
        self.embedding_dim = embedding_dim
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.dropout_rate = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.use_projection = use_projection
        self.initializer_range = initializer_range

        self.token_embedding = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            embedding_dim,
            embeddings_initializer=kernel_initializer(initializer_range),
            # Vocabulary logits in half precision would blur close scores.
            reverse_dtype="float32",
            dtype=self.dtype_policy,
            name="token_embedding",
        )
        self.segment_embedding = keras.layers.Embedding(
            num_segments,
            embedding_dim,
            embeddings_initializer=kernel_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="segment_embedding",
        )
        self.layer_norm = LayerNormalization(
            epsilon=layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="layer_norm",
        )
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.projection = None
        if use_projection or (use_projection is None and self._widens):
            self.projection = keras.layers.Dense(
                hidden_dim,
                kernel_initializer=kernel_initializer(initializer_range),
                dtype=self.dtype_policy,
                name="projection",
            )

    @property
    def _widens(self):
        return self.embedding_dim != self.hidden_dim

    def build(self, input_shape):
        embedded_shape = (*input_shape, self.embedding_dim)
        self.token_embedding.build(input_shape)
        self.segment_embedding.build(input_shape)
        self.position_embedding = self.add_weight(
            shape=(self.max_sequence_length, self.embedding_dim),
            initializer=kernel_initializer(self.initializer_range),
            name="position_embedding",
        )
        self.layer_norm.build(embedded_shape)
        if self.projection is not None:
            self.projection.build(embedded_shape)

    def call(self, token_ids, segment_ids, training=None):
        self._check_length(token_ids.shape[1])
        length = ops.shape(token_ids)[1]
        x = self.token_embedding(token_ids)  # (B, S) -> (B, S, E)
        x = x + ops.cast(self.position_embedding[None, :length], x.dtype)
        x = x + self.segment_embedding(segment_ids)
        x = self.dropout(self.layer_norm(x), training=training)
        if self.projection is not None:
            x = self.projection(x)  # (B, S, E) -> (B, S, H)
        return x

    def _check_length(self, length):
        if length is not None and length > self.max_sequence_length:
            raise ValueError(
                "The sequence is longer than the learned positions. "
                f"Received: length {length}, expected at most "
                f"max_sequence_length={self.max_sequence_length}. Truncate "
                "the input or build the model with more positions."
            )

    def compute_output_shape(self, token_ids_shape, segment_ids_shape=None):
        return (*token_ids_shape, self.hidden_dim)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "vocabulary_size": self.vocabulary_size,
                "embedding_dim": self.embedding_dim,
                "hidden_dim": self.hidden_dim,
                "max_sequence_length": self.max_sequence_length,
                "num_segments": self.num_segments,
                "dropout": self.dropout_rate,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "use_projection": self.use_projection,
                "initializer_range": self.initializer_range,
            }
        )
        return config
