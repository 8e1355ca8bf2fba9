"""Checkpoints of Google's TF1 code, `google-research/albert`, in and out.

Also those of TF-Hub modules, whose `variables/` folder is such a checkpoint.
"""

import json
import re
from pathlib import Path

from keras_albert.conversion.brightmart import SECOND
from keras_albert.conversion.brightmart import MultipliedTables
from keras_albert.conversion.brightmart import brightmart_arguments
from keras_albert.conversion.brightmart import brightmart_names
from keras_albert.conversion.configurations import ARGUMENTS
from keras_albert.conversion.configurations import arguments_of
from keras_albert.conversion.configurations import google_group
from keras_albert.conversion.configurations import settle_groups
from keras_albert.conversion.configurations import without_v2_dropout
from keras_albert.conversion.google_names import GOOGLE
from keras_albert.conversion.google_names import SPAN_HEADS
from keras_albert.conversion.google_names import skipped_variables
from keras_albert.conversion.google_names import spelled_as_google
from keras_albert.conversion.model_garden import MODEL_GARDEN
from keras_albert.conversion.model_garden import is_model_garden
from keras_albert.conversion.model_garden import named_by_variable
from keras_albert.conversion.source import Source
from keras_albert.conversion.source import load
from keras_albert.conversion.weight_files import RenamedFile
from keras_albert.conversion.weight_files import TensorFlowCheckpoint

CONFIG_FILE = "albert_config.json"
PREFIX = "model.ckpt"

# Left-overs of experiments and of BERT that change nothing.
IGNORED = (
    "net_structure_type",
    "layers_to_keep",
    "gap_size",
    "num_memory_blocks",
    "down_scale_factor",
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
    "ln_type",
)
# Google's "gelu" is the tanh approximation.
ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu", "tanh": "tanh"}


def google_config_to_arguments(config, where="Google's configuration"):
    """Returns the arguments of `AlbertBackbone` for Google's configuration.

    Args:
        config: dict, the content of an `albert_config.json`.
        where: string. Names the file in errors.

    Raises:
        ValueError: for a key or an activation that is not known, or a
            missing key.
    """
    known = [*their_keys(), *IGNORED]
    unknown = sorted(set(config) - set(known))
    if unknown:
        raise ValueError(
            f"Unknown keys in {where}: {', '.join(unknown)}. Known keys: "
            f"{', '.join(known)}. Remove the key if it does not change the "
            "model."
        )
    if config.get("ln_type", "postln") != "postln":
        raise ValueError(
            f"{where} says ln_type={config['ln_type']!r}: this model "
            "normalises before each block. An ALBERT does so after it, so "
            "this variant cannot be converted."
        )
    return arguments_of(config, ACTIVATIONS, where)


def their_keys():
    """Returns Google's keys that say something about the model."""
    return [key for key in ARGUMENTS if key != "layer_norm_eps"]


def google_source(prefix, config_file, tokenizer=None):
    """Opens a checkpoint of Google's, or of a code that followed it.

    Args:
        prefix: path of the checkpoint without `.index`.
        config_file: path of its `albert_config.json`.
        tokenizer: a tokenizer of ours, or `None`.

    Returns:
        `Source`; its kind is `"google"`, `"brightmart"` or
        `"model_garden"`.

    Raises:
        ValueError: for a damaged file, an unknown configuration, or names of
            which no ALBERT can be made.
    """
    prefix, config_file = Path(prefix), Path(config_file)
    config = read_config(config_file)
    arguments = google_config_to_arguments(config, str(config_file))
    arguments, groups = settle_groups(arguments, google_group)
    arguments, notes = without_v2_dropout(
        arguments, [prefix.name, *(p.name for p in config_file.parents[:2])]
    )
    file = TensorFlowCheckpoint(prefix)
    parts = {"arguments": arguments, "tokenizer": tokenizer, "notes": notes}
    if is_model_garden(file.shapes):
        return _model_garden_source(file, **parts)
    skipped = skipped_variables(file.shapes)
    names = spelled_as_google([n for n in file.shapes if n not in skipped])
    if SECOND in names:
        return _brightmart_source(file, names, skipped, **parts)
    weights = RenamedFile(file, _renumbered(names, groups))
    task, task_arguments = _task_of(weights.shapes)
    return Source(
        kind="google",
        names=GOOGLE,
        weights=weights,
        task=task,
        task_arguments=task_arguments,
        skipped=skipped,
        kept=_kept(names),
        **parts,
    )


def _brightmart_source(file, names, skipped, arguments, **parts):
    weights = MultipliedTables(RenamedFile(file, names))
    task, task_arguments = _task_of(weights.shapes)
    return Source(
        kind="brightmart",
        arguments=brightmart_arguments(arguments),
        names=brightmart_names(GOOGLE),
        weights=weights,
        task=task,
        task_arguments=task_arguments,
        skipped=skipped,
        kept=_kept(names),
        **parts,
    )


def _model_garden_source(file, **parts):
    arguments = parts["arguments"]
    layers = arguments["num_groups"] * arguments["num_inner_repetitions"]
    if layers != 1:
        raise ValueError(
            "Model Garden's AlbertEncoder has one layer for all calls. The "
            f"configuration says {layers}: it belongs to another checkpoint."
        )
    weights, skipped = named_by_variable(file)
    return Source(
        kind="model_garden",
        names=MODEL_GARDEN,
        weights=weights,
        task=_task_of(weights.shapes)[0],
        skipped=skipped,
        **parts,
    )


def _kept(names):
    return {
        name: "question answering head, for which there is no model here"
        for name in names
        if SPAN_HEADS.match(name)
    }


def read_config(path):
    """Returns the object in a JSON file of a configuration, a dict."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise ValueError(
            f"{path} is not readable as JSON. It is damaged or cut off; fetch "
            "it again."
        )
    return config


def load_google_checkpoint(folder, prefix=PREFIX):
    """Returns a pretrainer with the weights of a Google checkpoint.

    Args:
        folder: path of the folder holding `albert_config.json` and the
            checkpoint.
        prefix: string. Name of the checkpoint in the folder.

    Raises:
        FileNotFoundError: if either file is missing.
        ValueError: if the checkpoint does not fit its configuration.
    """
    folder = Path(folder)
    for name in (CONFIG_FILE, f"{prefix}.index"):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder / name} is missing. Expected a folder with "
                f"{CONFIG_FILE} and the checkpoint {prefix}."
            )
    source = google_source(folder / prefix, folder / CONFIG_FILE)
    return load(source, task="pretrainer").model


def _renumbered(names, groups):
    """Numbers the groups as ours, where some of theirs are never called."""
    places = {group: place for place, group in enumerate(groups)}

    def ours(match):
        return f"/group_{places.get(int(match[1]), match[1])}/"

    return {
        re.sub(r"/group_(\d+)/", ours, name): theirs
        for name, theirs in names.items()
    }


def _task_of(shapes):
    if "output_weights" in shapes:
        return "classifier", {"num_classes": shapes["output_weights"][0]}
    if any(name.startswith("cls/predictions/") for name in shapes):
        return "pretrainer", {}
    return "backbone", {}
