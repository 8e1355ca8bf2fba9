"""The masked-language-model head, tied to the vocabulary table.

Shape letters: B batch, S sequence, P predictions, H hidden, E embedding,
V vocabulary.
"""

import warnings

import keras
from keras import ops

from keras_albert.layers.activations import get_activation
from keras_albert.layers.initialization import kernel_initializer
from keras_albert.layers.layer_normalization import LayerNormalization


def gather_positions(hidden, mask_positions):
    """Returns the hidden states at the given positions.

    Args:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        mask_positions: int tensor of shape `(batch_size, num_predictions)`.

    Returns:
        Float tensor of shape `(batch_size, num_predictions, H)`.
    """
    return ops.take_along_axis(hidden, mask_positions[:, :, None], axis=1)


@keras.saving.register_keras_serializable("keras_albert")
class MaskedLMHead(keras.layers.Layer):
    """Predicts the original token at each masked position.

    The masked positions are gathered first, so that the vocabulary
    projection is paid for `P` positions and not for `S`. Then H is brought
    down to E, and the transposed token embedding gives the scores.

    Args:
        token_embedding: the `ReversibleEmbedding` to tie to, E wide. It is
            the owner's: the head neither builds nor saves it on its own.
        activation: string. Defaults to `"gelu_tanh"`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.

    Call arguments:
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        mask_positions: int tensor of shape `(batch_size, num_predictions)`.

    Returns:
        Logits of shape `(batch_size, num_predictions, vocabulary_size)`, in
        float32 whatever the dtype policy.

    Example:

    >>> table = keras.layers.ReversibleEmbedding(11, 3)
    >>> table.build()
    >>> head = MaskedLMHead(table)
    >>> positions = keras.ops.zeros((2, 4), dtype="int32")
    >>> logits = head(keras.ops.ones((2, 5, 8)), mask_positions=positions)
    >>> tuple(logits.shape)
    (2, 4, 11)

    Reference:
        Google's `get_masked_lm_output` in `run_pretraining.py`.
    """

    def __init__(
        self,
        token_embedding,
        activation="gelu_tanh",
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.token_embedding = token_embedding
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.transform = keras.layers.Dense(
            token_embedding.output_dim,
            activation=get_activation(activation),
            kernel_initializer=kernel_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="transform",
        )
        self.layer_norm = LayerNormalization(
            epsilon=layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="layer_norm",
        )

    def build(self, hidden_shape, mask_positions_shape=None):
        embedding_dim = self.token_embedding.output_dim
        self.transform.build(hidden_shape)
        self.layer_norm.build((*hidden_shape[:-1], embedding_dim))
        self.output_bias = self.add_weight(
            shape=(self.token_embedding.input_dim,),
            initializer="zeros",
            name="output_bias",
        )

    def call(self, hidden, mask_positions):
        x = gather_positions(hidden, mask_positions)  # (B, S, H) -> (B, P, H)
        x = self.layer_norm(self.transform(x))  # (B, P, H) -> (B, P, E)
        # Float32 from here on: scores of 30,000 tokens lie close together.
        logits = ops.cast(
            self.token_embedding(x, reverse=True), "float32"
        )  # (B, P, E) -> (B, P, V)
        return logits + ops.cast(self.output_bias, "float32")

    def compute_output_spec(self, hidden, mask_positions):
        shape = (*mask_positions.shape, self.token_embedding.input_dim)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "token_embedding": keras.saving.serialize_keras_object(
                    self.token_embedding
                ),
                "activation": self.activation,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
            }
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Makes a head with an embedding of its own, and warns of that."""
        warnings.warn(
            "A MaskedLMHead made from a configuration, as in "
            "`keras.models.clone_model`, has a token embedding of its own: "
            "its scores are no longer tied to the input. Copy a task with "
            "`type(model).from_config(model.get_config())`.",
            stacklevel=2,
        )
        config = dict(config)
        config["token_embedding"] = keras.saving.deserialize_keras_object(
            config["token_embedding"]
        )
        return cls(**config)
