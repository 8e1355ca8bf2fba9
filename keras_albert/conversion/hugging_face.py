"""Names of Hugging Face's `transformers` ALBERT, `AlbertForPreTraining`."""

# Hugging Face's name of an argument -> ours.
ARGUMENTS = {
    "vocab_size": "vocabulary_size",
    "embedding_size": "embedding_dim",
    "hidden_size": "hidden_dim",
    "num_hidden_layers": "num_layers",
    "num_hidden_groups": "num_groups",
    "num_attention_heads": "num_heads",
    "intermediate_size": "intermediate_dim",
    "inner_group_num": "num_inner_repetitions",
    "hidden_act": "activation",
    "max_position_embeddings": "max_sequence_length",
    "type_vocab_size": "num_segments",
    "hidden_dropout_prob": "hidden_dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "initializer_range": "initializer_range",
    "layer_norm_eps": "layer_norm_epsilon",
}

# There "gelu" is the exact form and "gelu_new" Google's.
ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
}

# Tied to the word embedding, or constants: nothing is lost without them.
SKIPPED = (
    "albert.embeddings.position_ids",
    "albert.embeddings.token_type_ids",
    "predictions.decoder.weight",
    "predictions.decoder.bias",
)


def hugging_face_config_to_arguments(config):
    """Returns the arguments of `AlbertBackbone` for a `config.json`.

    Args:
        config: dict. Keys that say nothing about the encoder are ignored:
            the file also holds tokenizer and task settings.

    Raises:
        ValueError: for a missing key or an activation that is not known.
    """
    missing = sorted(set(ARGUMENTS) - set(config))
    if missing:
        raise ValueError(
            "Keys are missing in the Hugging Face configuration: "
            f"{', '.join(missing)}. Is it an ALBERT's config.json?"
        )
    arguments = {ours: config[theirs] for theirs, ours in ARGUMENTS.items()}
    activation = arguments["activation"]
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"Unknown activation {activation!r} in the Hugging Face "
            f"configuration. Expected one of {', '.join(ACTIVATIONS)}."
        )
    return {
        **arguments,
        "activation": ACTIVATIONS[activation],
        # They project even where E equals H.
        "use_embedding_projection": True,
    }


def hugging_face_weight_table(pretrainer):
    """Returns Hugging Face's name for each variable of a pretrainer.

    Args:
        pretrainer: `AlbertPretrainer` with `sharing="all"`.

    Returns:
        List of `(name, variable, transform)`, see `assign_weights`.
    """
    backbone = pretrainer.backbone
    masked_lm = pretrainer.masked_lm_head
    return [
        *_embedding_rows(backbone.embeddings),
        *_encoder_rows(backbone.encoder),
        *_dense_rows("albert.pooler", backbone.pooler),
        *_dense_rows("predictions.dense", masked_lm.transform),
        *_norm_rows("predictions.LayerNorm", masked_lm.layer_norm),
        ("predictions.bias", masked_lm.output_bias, None),
        *_dense_rows(
            "sop_classifier.classifier", pretrainer.sentence_order_head.logits
        ),
    ]


def _embedding_rows(embeddings):
    scope = "albert.embeddings"
    return [
        (
            f"{scope}.word_embeddings.weight",
            embeddings.token_embedding.embeddings,
            None,
        ),
        (
            f"{scope}.token_type_embeddings.weight",
            embeddings.segment_embedding.embeddings,
            None,
        ),
        (
            f"{scope}.position_embeddings.weight",
            embeddings.position_embedding,
            None,
        ),
        *_norm_rows(f"{scope}.LayerNorm", embeddings.layer_norm),
        *_dense_rows(
            "albert.encoder.embedding_hidden_mapping_in", embeddings.projection
        ),
    ]


def _encoder_rows(encoder):
    rows = []
    for index, layer in enumerate(encoder.transformer_layers):
        group, inner = divmod(index, encoder.num_inner_repetitions)
        scope = (
            f"albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}"
        )
        attention, feed_forward = layer.self_attention, layer.feed_forward
        rows += [
            *_dense_rows(f"{scope}.attention.query", attention.query),
            *_dense_rows(f"{scope}.attention.key", attention.key),
            *_dense_rows(f"{scope}.attention.value", attention.value),
            *_dense_rows(
                f"{scope}.attention.dense", attention.attention_output
            ),
            *_norm_rows(f"{scope}.attention.LayerNorm", attention.layer_norm),
            *_dense_rows(f"{scope}.ffn", feed_forward.intermediate),
            *_dense_rows(
                f"{scope}.ffn_output", feed_forward.feed_forward_output
            ),
            *_norm_rows(
                f"{scope}.full_layer_layer_norm", feed_forward.layer_norm
            ),
        ]
    return rows


def _dense_rows(scope, dense):
    return [
        (f"{scope}.weight", dense.kernel, _transpose),
        (f"{scope}.bias", dense.bias, None),
    ]


def _norm_rows(scope, norm):
    return [
        (f"{scope}.weight", norm.gamma, None),
        (f"{scope}.bias", norm.beta, None),
    ]


def _transpose(array):
    # PyTorch keeps a linear layer's kernel as (outputs, inputs).
    return array.T
