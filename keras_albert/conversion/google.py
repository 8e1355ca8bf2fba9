"""Checkpoints of Google's TF1 code, `google-research/albert`."""

import json
from pathlib import Path

from keras_albert.conversion.weight_table import assign_weights
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer

# Google's name of an argument -> ours; `None` = left out on purpose.
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
    # Left-overs of experiments, unused by Google's modeling.py.
    "net_structure_type": None,
    "layers_to_keep": None,
    "gap_size": None,
    "num_memory_blocks": None,
    "down_scale_factor": None,
}

# Google's "gelu" is the tanh approximation.
ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu", "tanh": "tanh"}


def google_config_to_arguments(config):
    """Returns the arguments of `AlbertBackbone` for Google's configuration.

    Args:
        config: dict, the content of an `albert_config.json`.

    Raises:
        ValueError: for a key or an activation that is not known.
    """
    unknown = sorted(set(config) - set(ARGUMENTS))
    if unknown:
        raise ValueError(
            "Unknown keys in Google's configuration: "
            f"{', '.join(unknown)}. Known keys: {', '.join(ARGUMENTS)}. "
            "Remove the key if it does not change the model."
        )
    arguments = {
        ARGUMENTS[key]: value
        for key, value in config.items()
        if ARGUMENTS[key] is not None
    }
    activation = arguments.get("activation", "gelu")
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"Unknown activation {activation!r} in Google's configuration. "
            f"Expected one of {', '.join(ACTIVATIONS)}."
        )
    return {**arguments, "activation": ACTIVATIONS[activation]}


def google_weight_table(pretrainer):
    """Returns Google's name for each variable of a pretrainer.

    Args:
        pretrainer: `AlbertPretrainer` with `sharing="all"`.

    Returns:
        List of `(name, variable, transform)`, see `assign_weights`.
    """
    backbone = pretrainer.backbone
    return [
        *_embedding_rows(backbone.embeddings),
        *_encoder_rows(backbone.encoder),
        *_dense_rows("bert/pooler/dense", backbone.pooler),
        *_head_rows(pretrainer),
    ]


def load_google_checkpoint(folder, prefix="model.ckpt"):
    """Returns a pretrainer with the weights of a Google checkpoint.

    Args:
        folder: path of the folder holding `albert_config.json` and the
            checkpoint, pretraining heads included.
        prefix: string. Name of the checkpoint in the folder.

    Raises:
        FileNotFoundError: if either file is missing.
        ValueError: if the checkpoint does not fit its configuration.
    """
    import tensorflow as tf

    folder = Path(folder)
    for name in ("albert_config.json", f"{prefix}.index"):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder / name} is missing. Expected a folder with "
                f"albert_config.json and the checkpoint {prefix}."
            )
    config = json.loads((folder / "albert_config.json").read_text())
    backbone = AlbertBackbone(**google_config_to_arguments(config))
    pretrainer = AlbertPretrainer(backbone)
    reader = tf.train.load_checkpoint(str(folder / prefix))
    source = {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
    }
    assign_weights(google_weight_table(pretrainer), source)
    return pretrainer


def _embedding_rows(embeddings):
    scope = "bert/embeddings"
    rows = [
        (
            f"{scope}/word_embeddings",
            embeddings.token_embedding.embeddings,
            None,
        ),
        (
            f"{scope}/token_type_embeddings",
            embeddings.segment_embedding.embeddings,
            None,
        ),
        (f"{scope}/position_embeddings", embeddings.position_embedding, None),
        *_norm_rows(f"{scope}/LayerNorm", embeddings.layer_norm),
    ]
    if embeddings.projection is not None:
        rows += _dense_rows(
            "bert/encoder/embedding_hidden_mapping_in", embeddings.projection
        )
    return rows


def _encoder_rows(encoder):
    rows = []
    for index, layer in enumerate(encoder.transformer_layers):
        group, inner = divmod(index, encoder.num_inner_repetitions)
        scope = f"bert/encoder/transformer/group_{group}/inner_group_{inner}"
        attention, feed_forward = layer.self_attention, layer.feed_forward
        rows += [
            *_dense_rows(f"{scope}/attention_1/self/query", attention.query),
            *_dense_rows(f"{scope}/attention_1/self/key", attention.key),
            *_dense_rows(f"{scope}/attention_1/self/value", attention.value),
            *_dense_rows(
                f"{scope}/attention_1/output/dense",
                attention.attention_output,
            ),
            *_norm_rows(f"{scope}/LayerNorm", attention.layer_norm),
            *_dense_rows(
                f"{scope}/ffn_1/intermediate/dense", feed_forward.intermediate
            ),
            *_dense_rows(
                f"{scope}/ffn_1/intermediate/output/dense",
                feed_forward.feed_forward_output,
            ),
            *_norm_rows(f"{scope}/LayerNorm_1", feed_forward.layer_norm),
        ]
    return rows


def _head_rows(pretrainer):
    masked_lm = pretrainer.masked_lm_head
    order = pretrainer.sentence_order_head.logits
    return [
        *_dense_rows("cls/predictions/transform/dense", masked_lm.transform),
        *_norm_rows(
            "cls/predictions/transform/LayerNorm", masked_lm.layer_norm
        ),
        ("cls/predictions/output_bias", masked_lm.output_bias, None),
        # Google multiplies by the transposed kernel.
        ("cls/seq_relationship/output_weights", order.kernel, _transpose),
        ("cls/seq_relationship/output_bias", order.bias, None),
    ]


def _dense_rows(scope, dense):
    return [
        (f"{scope}/kernel", dense.kernel, None),
        (f"{scope}/bias", dense.bias, None),
    ]


def _norm_rows(scope, norm):
    return [
        (f"{scope}/gamma", norm.gamma, None),
        (f"{scope}/beta", norm.beta, None),
    ]


def _transpose(array):
    return array.T
