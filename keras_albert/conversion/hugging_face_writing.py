"""Models of ours as folders that `transformers` loads."""

import json
from pathlib import Path

import numpy as np

from keras_albert.conversion.configurations import their_config
from keras_albert.conversion.hugging_face import ACTIVATIONS
from keras_albert.conversion.hugging_face import CONFIG_FILE
from keras_albert.conversion.hugging_face import WEIGHT_FILES
from keras_albert.conversion.hugging_face_names import HUGGING_FACE
from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.weight_files import write_safetensors
from keras_albert.conversion.weight_table import variable_as
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier


def write_hugging_face(converted, folder):
    """Writes a folder that `transformers.Albert*.from_pretrained` loads.

    Args:
        converted: `Converted`.
        folder: path of a folder that exists.

    Returns:
        String. The class of `transformers` that it holds.
    """
    folder = Path(folder)
    architecture = _architecture_to_write(converted)
    weights = {
        name: (shape, read)
        for name, shape, read in _weights_to_write(converted, architecture)
    }
    config = _config_to_write(converted, architecture)
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    write_safetensors(
        folder / WEIGHT_FILES[0],
        {name: shape for name, (shape, _) in weights.items()},
        lambda name: weights[name][1](),
    )
    return architecture


def _architecture_to_write(converted):
    if converted.kind == "hugging_face" and converted.architecture:
        return converted.architecture
    if isinstance(converted.model, AlbertPretrainer):
        return "AlbertForPreTraining"
    if isinstance(converted.model, AlbertTextClassifier):
        return "AlbertForSequenceClassification"
    return "AlbertModel"


def _weights_to_write(converted, architecture):
    """Yields `(their name, shape, function that gives the array)`."""
    variables = model_variables(converted.model)
    for name in converted.added_here("hugging_face"):
        del variables[name]
    # Their bare model has no prefix.
    prefix = "albert." if architecture == "AlbertModel" else ""
    for name, variable in variables.items():
        theirs, form = HUGGING_FACE.row(name)
        yield theirs.removeprefix(prefix), *variable_as(variable, form)
    if "embeddings/projection/kernel" not in variables:
        yield from _identity_projection(converted.model, prefix)
    for name, array in converted.kept_from("hugging_face").items():
        yield name, array.shape, lambda array=array: array


def _identity_projection(model, prefix):
    """They always project; where we do not, the identity is the same."""
    width = getattr(model, "backbone", model).hidden_dim
    scope = HUGGING_FACE.scopes["embeddings/projection"].removeprefix(prefix)
    yield f"{scope}.weight", (width, width), lambda: np.eye(width)
    yield f"{scope}.bias", (width,), lambda: np.zeros(width)


def _config_to_write(converted, architecture):
    model = converted.model
    backbone = getattr(model, "backbone", model)
    config = {
        # Labels of heads kept aside, and whatever else came with them.
        **converted.settings_from("hugging_face"),
        "architectures": [architecture],
        "model_type": "albert",
        **their_config(backbone, ACTIVATIONS),
        "dtype": "float32",
        "tie_word_embeddings": True,
    }
    config.pop("torch_dtype", None)
    config.setdefault("classifier_dropout_prob", 0.1)
    if converted.tokenizer is not None:
        config["pad_token_id"] = converted.tokenizer.pad_token_id
        config["bos_token_id"] = converted.tokenizer.cls_token_id
        config["eos_token_id"] = converted.tokenizer.sep_token_id
    if isinstance(model, AlbertTextClassifier):
        names = model.labels or [f"LABEL_{i}" for i in range(model.num_classes)]
        config["classifier_dropout_prob"] = model.dropout
        config["id2label"] = {str(i): name for i, name in enumerate(names)}
        config["label2id"] = {name: i for i, name in enumerate(names)}
    return config
