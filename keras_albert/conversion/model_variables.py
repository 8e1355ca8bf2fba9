"""Our variables by stable names, which every table of weights refers to.

A name is the part's scope and a leaf: `pooler/kernel`,
`layers/0/1/query/bias` (group 0, inner layer 1), `masked_lm/norm/gamma`.
"""

import re

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier

# The parts that a checkpoint may lack: they are then made anew.
OPTIONAL_PARTS = ("pooler", "masked_lm", "sentence_order", "classifier")


def model_variables(model):
    """Returns the variables of a model by name.

    Args:
        model: `AlbertBackbone`, `AlbertPretrainer` or `AlbertTextClassifier`
            with `sharing="all"`.

    Returns:
        Dict from name to Keras variable; every weight appears once.

    Raises:
        ValueError: for another class, or a model whose layers share in a way
            that no other library has.
    """
    backbone = getattr(model, "backbone", model)
    if not isinstance(backbone, AlbertBackbone):
        raise ValueError(
            f"A {type(model).__name__} cannot be converted. Expected an "
            "AlbertBackbone, AlbertPretrainer or AlbertTextClassifier."
        )
    _check_sharing(backbone)
    variables = {**_embeddings(backbone), **_layers(backbone)}
    variables |= _dense("pooler", backbone.pooler)
    if isinstance(model, AlbertPretrainer):
        head = model.masked_lm_head
        variables |= _dense("masked_lm/transform", head.transform)
        variables |= _norm("masked_lm/norm", head.layer_norm)
        variables["masked_lm/output/bias"] = head.output_bias
        variables |= _dense("sentence_order", model.sentence_order_head.logits)
    elif isinstance(model, AlbertTextClassifier):
        variables |= _dense("classifier", model.logits)
    return variables


def part_of(name):
    """Returns the part of a model that a variable belongs to.

    >>> part_of("masked_lm/norm/gamma"), part_of("layers/0/1/query/bias")
    ('masked_lm', 'layers')
    """
    return name.partition("/")[0]


def split_layer(name):
    """Splits `layers/GROUP/INNER/REST` into numbers and `layers/REST`.

    Returns:
        `(group, inner, name)`; the numbers are 0 for what is no layer.

    >>> split_layer("layers/2/1/query/bias")
    (2, 1, 'layers/query/bias')
    >>> split_layer("pooler/bias")
    (0, 0, 'pooler/bias')
    """
    match = re.fullmatch(r"layers/(\d+)/(\d+)/(.*)", name)
    if match is None:
        return 0, 0, name
    return int(match[1]), int(match[2]), f"layers/{match[3]}"


def _check_sharing(backbone):
    if backbone.sharing != "all":
        raise ValueError(
            "Only models that share whole layers have an equivalent in other "
            f"libraries. Received: sharing={backbone.sharing!r}. Train with "
            "sharing='all' (and num_groups for less sharing) to convert."
        )


def _embeddings(backbone):
    embeddings = backbone.embeddings
    variables = {
        "embeddings/tokens/table": embeddings.token_embedding.embeddings,
        "embeddings/positions/table": embeddings.position_embedding,
        "embeddings/segments/table": embeddings.segment_embedding.embeddings,
        **_norm("embeddings/norm", embeddings.layer_norm),
    }
    if embeddings.projection is not None:
        variables |= _dense("embeddings/projection", embeddings.projection)
    return variables


def _layers(backbone):
    variables = {}
    for index, layer in enumerate(backbone.encoder.transformer_layers):
        group, inner = divmod(index, backbone.num_inner_repetitions)
        scope = f"layers/{group}/{inner}"
        attention, feed_forward = layer.self_attention, layer.feed_forward
        variables |= _dense(f"{scope}/query", attention.query)
        variables |= _dense(f"{scope}/key", attention.key)
        variables |= _dense(f"{scope}/value", attention.value)
        variables |= _dense(
            f"{scope}/attention_output", attention.attention_output
        )
        variables |= _norm(f"{scope}/attention_norm", attention.layer_norm)
        variables |= _dense(f"{scope}/intermediate", feed_forward.intermediate)
        variables |= _dense(
            f"{scope}/feed_forward_output", feed_forward.feed_forward_output
        )
        variables |= _norm(
            f"{scope}/feed_forward_norm", feed_forward.layer_norm
        )
    return variables


def _dense(scope, dense):
    return {f"{scope}/kernel": dense.kernel, f"{scope}/bias": dense.bias}


def _norm(scope, norm):
    return {f"{scope}/gamma": norm.gamma, f"{scope}/beta": norm.beta}
