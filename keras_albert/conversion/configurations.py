"""Their configurations -> the arguments of `AlbertBackbone`, and back.

Google's and Hugging Face's files share their keys. What differs between them
is what "gelu" means and which keys must be there.
"""

import re

# Their name of an argument -> ours.
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
_RATES = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "initializer_range",
    "layer_norm_eps",
)
# Their defaults differ from ours, or ours has none.
DEFAULTS = {"num_hidden_groups": 1, "inner_group_num": 1, "hidden_act": "gelu"}
# Of calls; each takes a moment to build, and no ALBERT has a tenth of them.
MOST_LAYERS = 1000
REQUIRED = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
)


def arguments_of(config, activations, where):
    """Returns the arguments of `AlbertBackbone` for a configuration.

    Args:
        config: dict, the content of their file.
        activations: dict from their name of an activation to ours.
        where: string. Names the file in errors.

    Raises:
        ValueError: for a missing key, a value that is no number or no size,
            or an activation that is not known.
    """
    missing = [key for key in REQUIRED if key not in config]
    if missing:
        raise ValueError(
            f"Keys are missing in {where}: {', '.join(missing)}. Is it the "
            "configuration of an ALBERT?"
        )
    config = {**DEFAULTS, **config}
    arguments = {
        ours: config[theirs]
        for theirs, ours in ARGUMENTS.items()
        if theirs in config
    }
    for theirs, ours in ARGUMENTS.items():
        if theirs != "hidden_act":
            _check_number(theirs, arguments.get(ours, 1), where)
    layers = arguments["num_layers"]
    if layers > MOST_LAYERS:
        raise ValueError(
            f"num_hidden_layers in {where} must be at most {MOST_LAYERS}; "
            f"ALBERT has 12 or 24. Received: {layers}."
        )
    activation = arguments["activation"]
    if not isinstance(activation, str) or activation not in activations:
        raise ValueError(
            f"Unknown activation {activation!r} in {where}. Expected one of "
            f"{', '.join(activations)}."
        )
    arguments["activation"] = activations[activation]
    return arguments


def _check_number(key, value, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(
            f"{key} in {where} must be a number. Received: {value!r}."
        )
    if key not in _RATES and not (isinstance(value, int) and value >= 1):
        raise ValueError(
            f"{key} in {where} must be a whole number of at least 1. "
            f"Received: {value!r}."
        )


def google_group(call, layers, groups):
    """Returns the group of a layer call, computed as Google's code does."""
    return int(call / layers * groups)


def hugging_face_group(call, layers, groups):
    """Returns the group of a layer call, computed as `transformers` does."""
    return int(call / (layers / groups))


def settle_groups(arguments, group_of):
    """Brings the number of groups to what the layer calls can use.

    Some published files ask for more groups than there are calls; then each
    call has a layer of its own, and some groups do not exist.

    Args:
        arguments: dict of arguments of `AlbertBackbone`.
        group_of: `google_group` or `hugging_face_group`.

    Returns:
        `(arguments, groups)`: `groups[i]` is their number of our group `i`.

    Raises:
        ValueError: where their code, which divides floating-point numbers,
            gives a call to another group than ours.
    """
    layers, groups = arguments["num_layers"], arguments["num_groups"]
    theirs = [group_of(call, layers, groups) for call in range(layers)]
    used = sorted(set(theirs))
    ours = [call * len(used) // layers for call in range(layers)]
    if [used.index(group) for group in theirs] != ours:
        raise ValueError(
            f"{layers} layers in {groups} groups are not divided evenly by "
            "the code that trained this model, so it cannot be converted. "
            "Groups that divide the number of layers can."
        )
    return {**arguments, "num_groups": len(used)}, used


def without_v2_dropout(arguments, names):
    """Sets the encoder's dropout of a version 2 model to 0.

    Those models were trained without; some of their published files say 0.1,
    and fine-tuning with that is worse than the paper.

    Args:
        arguments: dict of arguments of `AlbertBackbone`.
        names: list of strings that may say the version, such as the name of
            the folder.

    Returns:
        `(arguments, notes)`.
    """
    rates = ("hidden_dropout", "attention_dropout")
    is_v2 = any(
        re.search(r"(^|[^a-z0-9])v2($|[^a-z0-9])", n.lower()) for n in names
    )
    found = {rate: arguments[rate] for rate in rates if arguments.get(rate)}
    if not is_v2 or not found:
        return arguments, []
    listing = ", ".join(f"{rate} {value}" for rate, value in found.items())
    note = (
        f"The configuration says {listing}; version 2 models were trained "
        "without dropout in the encoder, so it is 0 here."
    )
    return {**arguments, **dict.fromkeys(rates, 0.0)}, [note]


def their_config(backbone, activations):
    """Returns their keys and values for a backbone of ours.

    Args:
        backbone: `AlbertBackbone`.
        activations: dict from their name of an activation to ours; the first
            one of ours is written.

    Raises:
        ValueError: for an activation that they do not have.
    """
    config = {
        theirs: getattr(backbone, ours) for theirs, ours in ARGUMENTS.items()
    }
    names = [t for t, o in activations.items() if o == backbone.activation]
    if not names:
        raise ValueError(
            f"The activation {backbone.activation!r} has no name there. "
            f"Known: {', '.join(activations.values())}."
        )
    return {**config, "hidden_act": names[0]}
