"""The ALBERT encoder as a keras-hub backbone."""

import keras
import keras_hub

from keras_albert.layers.factorized_embedding import FactorizedEmbedding
from keras_albert.layers.initialization import kernel_initializer
from keras_albert.layers.shared_encoder import SharedEncoder
from keras_albert.models.foreign_presets import FromForeignPreset
from keras_albert.models.sizes import backbone_arguments
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer


@keras.saving.register_keras_serializable("keras_albert")
class AlbertBackbone(FromForeignPreset, keras_hub.models.Backbone):
    """ALBERT encoder: factorized embedding, one reused layer, pooler.

    Relative to Google's code: equal to 1e-5 in every layer's output. Relative
    to keras-hub's `AlbertBackbone`: hidden and attention dropout are separate,
    the activation is an argument, and weights can be shared by part
    (`sharing`), not by group alone.

    Args:
        vocabulary_size: int. Number of token ids.
        num_layers: int. Number of layer calls. Costs no weights under
            `sharing="all"`.
        num_heads: int. Divides `hidden_dim`.
        embedding_dim: int. E, width of the token table.
        hidden_dim: int. H, width of the encoder.
        intermediate_dim: int. Width inside the feed-forward blocks.
        sharing: string. `"all"`, `"attention"`, `"ffn"` or `"none"`. Defaults
            to `"all"`.
        num_groups: int. Blocks of calls that share. Defaults to 1.
        num_inner_repetitions: int. Distinct layers per call. Defaults to 1.
        hidden_dropout: float. Rate on embeddings and block outputs. Defaults
            to `0.0`, as in the v2 models.
        attention_dropout: float. Rate on attention weights. Defaults to
            `0.0`.
        activation: string. `"gelu_tanh"` (Google's `"gelu"`), `"gelu_erf"`,
            `"relu"`, ... Defaults to `"gelu_tanh"`.
        max_sequence_length: int. Number of learned positions. Defaults to
            `512`.
        num_segments: int. Number of segment ids. Defaults to `2`.
        layer_norm_epsilon: float. Defaults to `1e-12`.
        initializer_range: float. Defaults to `0.02`.
        use_embedding_projection: bool or None. Whether a dense layer maps E
            to H; `None` means "where they differ", as in Google's code.
        unroll: bool. See `SharedEncoder`. Defaults to `True`.
        remat: bool. See `SharedEncoder`. Defaults to `False`.
        dtype: string or `keras.DTypePolicy`. Softmax, normalisation and
            vocabulary scores are in float32 whatever it is.

    Call arguments:
        inputs: dict of int32 tensors of shape `(batch_size,
            sequence_length)`: `token_ids`, `segment_ids`, and `padding_mask`
            (1 at real tokens).

    Returns:
        Dict of float tensors: `sequence_output` of shape `(batch_size,
        sequence_length, hidden_dim)` and `pooled_output` of shape
        `(batch_size, hidden_dim)`, a tanh layer on the first token.

    Example:

    >>> backbone = AlbertBackbone(
    ...     vocabulary_size=11,
    ...     num_layers=2,
    ...     num_heads=2,
    ...     embedding_dim=3,
    ...     hidden_dim=8,
    ...     intermediate_dim=13,
    ... )
    >>> ids = keras.ops.ones((1, 5), dtype="int32")
    >>> outputs = backbone(
    ...     {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    ... )
    >>> tuple(outputs["sequence_output"].shape)
    (1, 5, 8)

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3;
        Google's `AlbertModel` in `modeling.py`.
    """

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        embedding_dim,
        hidden_dim,
        intermediate_dim,
        sharing="all",
        num_groups=1,
        num_inner_repetitions=1,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        activation="gelu_tanh",
        max_sequence_length=512,
        num_segments=2,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        use_embedding_projection=None,
        unroll=True,
        remat=False,
        dtype=None,
        **kwargs,
    ):
        # === Layers ===
        self.embeddings = FactorizedEmbedding(
            vocabulary_size,
            embedding_dim,
            hidden_dim,
            max_sequence_length=max_sequence_length,
            num_segments=num_segments,
            dropout=hidden_dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            use_projection=use_embedding_projection,
            initializer_range=initializer_range,
            dtype=dtype,
            name="embeddings",
        )
        self.encoder = SharedEncoder(
            num_layers,
            num_heads,
            hidden_dim,
            intermediate_dim,
            sharing=sharing,
            num_groups=num_groups,
            num_inner_repetitions=num_inner_repetitions,
            activation=activation,
            hidden_dropout=hidden_dropout,
            attention_dropout=attention_dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            unroll=unroll,
            remat=remat,
            dtype=dtype,
            name="encoder",
        )
        self.pooler = keras.layers.Dense(
            hidden_dim,
            activation="tanh",
            kernel_initializer=kernel_initializer(initializer_range),
            dtype=dtype,
            name="pooler",
        )

        # === Functional model ===
        inputs = {
            name: keras.Input(shape=(None,), dtype="int32", name=name)
            for name in ("token_ids", "segment_ids", "padding_mask")
        }
        embedded = self.embeddings(
            inputs["token_ids"], segment_ids=inputs["segment_ids"]
        )
        sequence_output = self.encoder(
            embedded, padding_mask=inputs["padding_mask"]
        )
        pooled_output = self.pooler(sequence_output[:, 0, :])
        super().__init__(
            inputs=inputs,
            outputs={
                "sequence_output": sequence_output,
                "pooled_output": pooled_output,
            },
            dtype=dtype,
            **kwargs,
        )

        # === Config ===
        self.vocabulary_size = vocabulary_size
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.embedding_dim = embedding_dim
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.sharing = sharing
        self.num_groups = num_groups
        self.num_inner_repetitions = num_inner_repetitions
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.use_embedding_projection = use_embedding_projection
        self.unroll = unroll
        self.remat = remat

    @property
    def token_embedding(self):
        """The token table, a `keras.layers.ReversibleEmbedding` E wide."""
        return self.embeddings.token_embedding

    @classmethod
    def from_size(cls, name, **overrides):
        """Returns a randomly initialised backbone of a published size.

        Args:
            name: string. A key of `keras_albert.models.SIZES`, such as
                `"albert_base"` or `"albert_tiny_zh"`.
            **overrides: arguments that replace the published ones, such as
                `vocabulary_size` or `dtype`.

        Raises:
            ValueError: for an unknown name; near names are proposed.
        """
        return cls(**{**backbone_arguments(name), **overrides})

    def layer_outputs(self, inputs):
        """Returns the hidden states after each layer call.

        Args:
            inputs: dict, as in a call of the model.

        Returns:
            List of float tensors of shape `(batch_size, sequence_length,
            hidden_dim)`, one per layer call; the last is `sequence_output`.
        """
        embedded = self.embeddings(
            inputs["token_ids"], segment_ids=inputs["segment_ids"]
        )
        return self.encoder(
            embedded,
            padding_mask=inputs["padding_mask"],
            return_all_layers=True,
        )

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "vocabulary_size": self.vocabulary_size,
                "num_layers": self.num_layers,
                "num_heads": self.num_heads,
                "embedding_dim": self.embedding_dim,
                "hidden_dim": self.hidden_dim,
                "intermediate_dim": self.intermediate_dim,
                "sharing": self.sharing,
                "num_groups": self.num_groups,
                "num_inner_repetitions": self.num_inner_repetitions,
                "hidden_dropout": self.hidden_dropout,
                "attention_dropout": self.attention_dropout,
                "activation": self.activation,
                "max_sequence_length": self.max_sequence_length,
                "num_segments": self.num_segments,
                "layer_norm_epsilon": self.layer_norm_epsilon,
                "initializer_range": self.initializer_range,
                "use_embedding_projection": self.use_embedding_projection,
                "unroll": self.unroll,
                "remat": self.remat,
            }
        )
        return config


# keras-hub finds a backbone's tokenizer by this attribute. It is set here
# because tokenizers stand below models and do not import them.
AlbertTokenizer.backbone_cls = AlbertBackbone
AlbertWordPieceTokenizer.backbone_cls = AlbertBackbone
