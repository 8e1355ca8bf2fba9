"""Folders of Hugging Face's `transformers` ALBERT, in and out."""

import json
from pathlib import Path

import numpy as np

from keras_albert.conversion.configurations import ARGUMENTS
from keras_albert.conversion.configurations import arguments_of
from keras_albert.conversion.configurations import hugging_face_group
from keras_albert.conversion.configurations import settle_groups
from keras_albert.conversion.configurations import without_v2_dropout
from keras_albert.conversion.hugging_face_names import BUFFERS
from keras_albert.conversion.hugging_face_names import HEADS
from keras_albert.conversion.hugging_face_names import HEADS_OF_TASK
from keras_albert.conversion.hugging_face_names import HUGGING_FACE
from keras_albert.conversion.hugging_face_names import TASKS
from keras_albert.conversion.hugging_face_names import TIED
from keras_albert.conversion.hugging_face_names import head_of
from keras_albert.conversion.hugging_face_names import usual_names
from keras_albert.conversion.source import Source
from keras_albert.conversion.weight_files import RenamedFile
from keras_albert.conversion.weight_files import TorchFile
from keras_albert.conversion.weight_files import open_safetensors

CONFIG_FILE = "config.json"
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)

# There "gelu" is the exact form and "gelu_new" Google's.
ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu": "gelu_erf",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}


def hugging_face_source(folder, tokenizer=None, name=None):
    """Opens a folder of Hugging Face's.

    Args:
        folder: path of a folder with `config.json` and the weights.
        tokenizer: a tokenizer of ours, or `None`.
        name: string or `None`. What the model is called where it came from.

    Returns:
        `Source`.

    Raises:
        FileNotFoundError: if the weights are not there.
        ValueError: for a damaged file or a model that is no ALBERT.
    """
    folder = Path(folder)
    config_file = folder / CONFIG_FILE
    config = json.loads(config_file.read_text(encoding="utf-8"))
    arguments = hugging_face_config_to_arguments(config, str(config_file))
    arguments, groups = settle_groups(arguments, hugging_face_group)
    names = [folder.name, name or "", str(config.get("_name_or_path", ""))]
    arguments, notes = without_v2_dropout(arguments, names)
    file = _open_weights(folder)
    weights = RenamedFile(file, usual_names(file.shapes, groups))
    architecture = _architecture(config, weights.shapes)
    task = TASKS[architecture]
    skipped = _skipped(weights)
    return Source(
        kind="hugging_face",
        arguments=arguments,
        names=HUGGING_FACE,
        weights=weights,
        task=task,
        task_arguments=_task_arguments(
            config, task, weights.shapes, config_file
        ),
        skipped=skipped,
        kept=_kept(set(weights.shapes) - set(skipped), task),
        tokenizer=tokenizer,
        architecture=architecture,
        settings={k: v for k, v in config.items() if k not in ARGUMENTS},
        notes=notes,
    )


def hugging_face_config_to_arguments(
    config, where="the Hugging Face configuration"
):
    """Returns the arguments of `AlbertBackbone` for a `config.json`.

    Args:
        config: dict. Keys that say nothing about the encoder are ignored:
            the file also holds tokenizer and task settings.
        where: string. Names the file in errors.

    Raises:
        ValueError: for a missing key, another kind of model, or an
            activation that is not known.
    """
    kind = config.get("model_type", "albert")
    if kind != "albert":
        raise ValueError(
            f"{where} describes a {kind!r} model. Expected 'albert'; other "
            "models have other layers and cannot be converted."
        )
    position = config.get("position_embedding_type", "absolute")
    if position != "absolute":
        raise ValueError(
            f"{where} says position_embedding_type={position!r}. Only "
            "'absolute', the published models' kind, can be converted."
        )
    if config.get("quantization_config"):
        raise ValueError(
            f"{where} describes a quantized model, whose weights are no "
            "numbers to train from. Convert the original and quantize it "
            "here."
        )
    # Their defaults: `transformers` leaves out what equals them.
    config = {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12, **config}
    return {
        **arguments_of(config, ACTIVATIONS, where),
        # They project even where E equals H.
        "use_embedding_projection": True,
    }


def _open_weights(folder):
    present = [n for n in WEIGHT_FILES if (folder / n).is_file()]
    if not present:
        raise FileNotFoundError(
            f"{folder} holds no weights. Expected one of "
            f"{', '.join(WEIGHT_FILES)}."
        )
    file = folder / present[0]
    if file.suffix == ".bin":
        return TorchFile(file)
    return open_safetensors(file)


def _architecture(config, shapes):
    named = (config.get("architectures") or [None])[0]
    if named in TASKS:
        return named
    if named is not None:
        raise ValueError(
            f"The configuration names the class {named!r}. Known classes: "
            f"{', '.join(TASKS)}."
        )
    heads = {head_of(name) for name in shapes} - {None}
    if "qa_outputs" in heads:
        return "AlbertForQuestionAnswering"
    if "classifier" in heads:
        pooled = "albert.pooler.weight" in shapes
        kind = "Sequence" if pooled else "Token"
        return f"AlbertFor{kind}Classification"
    if "sop_classifier" in heads:
        return "AlbertForPreTraining"
    return "AlbertForMaskedLM" if heads else "AlbertModel"


def _skipped(weights):
    skipped = {
        name: "a constant, no weight"
        for name in BUFFERS
        if name in weights.shapes
    }
    for name, original in TIED.items():
        if name not in weights.shapes:
            continue
        if not np.array_equal(weights.read(name), weights.read(original)):
            raise ValueError(
                f"{weights.spelled(name)} and {weights.spelled(original)} "
                "differ, so this model does not tie its output to its "
                "embedding as an ALBERT does. It cannot be converted."
            )
        skipped[name] = f"the same tensor as {original}"
    for name in weights.shapes:
        if "albert_layer_groups.unused" in name:
            skipped[name] = "a group that no layer call uses"
    return skipped


def _kept(names, task):
    return {
        name: f"{HEADS[head]} head, for which there is no model here"
        for name in sorted(names)
        if (head := head_of(name)) and head not in HEADS_OF_TASK[task]
    }


def _task_arguments(config, task, shapes, where):
    if task != "classifier":
        return {}
    dropout = config.get("classifier_dropout_prob", 0.1)
    if dropout is None:
        dropout = config.get("hidden_dropout_prob", 0.0)
    is_number = isinstance(dropout, (int, float))
    if isinstance(dropout, bool) or not is_number or not 0 <= dropout < 1:
        raise ValueError(
            f"classifier_dropout_prob in {where} must be a number from 0 to "
            f"below 1. Received: {dropout!r}."
        )
    classes = shapes.get("classifier.weight", (2,))[0]
    return {
        "num_classes": classes,
        "labels": _labels(config.get("id2label"), classes, where),
        "dropout": dropout,
    }


def _labels(id2label, classes, where):
    """The names of the classes, unless they are only numbered."""
    try:
        labels = {int(i): name for i, name in (id2label or {}).items()}
    except (AttributeError, ValueError):
        labels = {0: None}
    if not all(isinstance(name, (str, int)) for name in labels.values()):
        raise ValueError(
            f"id2label in {where} must map numbers to names of classes. "
            f"Received: {id2label!r}."
        )
    labels = {i: str(name) for i, name in labels.items()}
    if set(labels) != set(range(classes)):
        return None
    if all(name == f"LABEL_{i}" for i, name in labels.items()):
        return None
    return [labels[i] for i in range(classes)]
