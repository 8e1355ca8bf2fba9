"""The weight names of Hugging Face's `transformers` ALBERT classes."""

import re

from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import TRANSPOSED
from keras_albert.conversion.weight_table import WeightNames

_LAYER = "albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}"

HUGGING_FACE = WeightNames(
    scopes={
        "embeddings/norm": "albert.embeddings.LayerNorm",
        "embeddings/projection": "albert.encoder.embedding_hidden_mapping_in",
        "layers/query": f"{_LAYER}.attention.query",
        "layers/key": f"{_LAYER}.attention.key",
        "layers/value": f"{_LAYER}.attention.value",
        "layers/attention_output": f"{_LAYER}.attention.dense",
        "layers/attention_norm": f"{_LAYER}.attention.LayerNorm",
        "layers/intermediate": f"{_LAYER}.ffn",
        "layers/feed_forward_output": f"{_LAYER}.ffn_output",
        "layers/feed_forward_norm": f"{_LAYER}.full_layer_layer_norm",
        "pooler": "albert.pooler",
        "masked_lm/transform": "predictions.dense",
        "masked_lm/norm": "predictions.LayerNorm",
        "sentence_order": "sop_classifier.classifier",
        "classifier": "classifier",
    },
    leaves={
        # PyTorch keeps a linear layer's kernel as (outputs, inputs).
        "kernel": (".weight", TRANSPOSED),
        "bias": (".bias", AS_IS),
        "gamma": (".weight", AS_IS),
        "beta": (".bias", AS_IS),
    },
    exact={
        "embeddings/tokens/table": (
            "albert.embeddings.word_embeddings.weight",
            AS_IS,
        ),
        "embeddings/positions/table": (
            "albert.embeddings.position_embeddings.weight",
            AS_IS,
        ),
        "embeddings/segments/table": (
            "albert.embeddings.token_type_embeddings.weight",
            AS_IS,
        ),
        "masked_lm/output/bias": ("predictions.bias", AS_IS),
    },
)

# Which of our models each of their classes becomes. The heads of the others
# have no model here: their encoder is converted, the head kept aside.
TASKS = {
    "AlbertModel": "backbone",
    "AlbertForPreTraining": "pretrainer",
    "AlbertForMaskedLM": "pretrainer",
    "AlbertForSequenceClassification": "classifier",
    "AlbertForTokenClassification": "backbone",
    "AlbertForQuestionAnswering": "backbone",
    "AlbertForMultipleChoice": "backbone",
}
# What the first part of a name says about it.
HEADS = {
    "predictions": "masked language model",
    "sop_classifier": "sentence order",
    "classifier": "classification",
    "qa_outputs": "question answering",
}
HEADS_OF_TASK = {
    "backbone": (),
    "pretrainer": ("predictions", "sop_classifier"),
    "classifier": ("classifier",),
}
# Two names of one tensor there; either may be the one in the file.
TIED = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}
BUFFERS = (
    "albert.embeddings.position_ids",
    "albert.embeddings.token_type_ids",
)


def head_of(name):
    """Returns the key of `HEADS` that a name belongs to, or `None`."""
    first = name.partition(".")[0]
    return first if first in HEADS else None


def usual_names(names, groups):
    """Names weights as the class with all heads does, groups as ours.

    Args:
        names: iterable of strings, the names in a file: of the bare model
            without its prefix, of older releases, or of all tied tensors.
        groups: list of int. Their number of our group `i`.

    Returns:
        Dict from the usual name to the one in the file.
    """
    has_prefix = any(name.startswith("albert.") for name in names)
    places = {group: place for place, group in enumerate(groups)}

    def group(match):
        number = int(match[1])
        # A group without a place is never called; it is skipped later.
        return f"albert_layer_groups.{places.get(number, f'unused{number}')}."

    usual = {}
    for name in names:
        new = name if has_prefix or head_of(name) else f"albert.{name}"
        new = re.sub(r"\.gamma$", ".weight", new)
        new = re.sub(r"\.beta$", ".bias", new)
        usual[re.sub(r"albert_layer_groups\.(\d+)\.", group, new)] = name
    for theirs, ours in TIED.items():
        if theirs in usual and ours not in usual:
            usual[ours] = usual.pop(theirs)
    return usual
