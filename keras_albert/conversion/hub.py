"""Models on a hub: their files, fetched by keras-hub's own downloader."""

import json
from pathlib import Path

SCHEMES = ("hf://", "kaggle://", "modelscope://")
# What any of the formats may consist of; most models have some of them.
FILES = (
    "config.json",
    "task.json",
    "preprocessor.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "spiece.model",
    "vocab.txt",
    "assets/tokenizer/vocabulary.spm",
    "assets/tokenizer/vocabulary.txt",
    "task.weights.h5",
)
# Whose errors say why a model could not be fetched.
DOWNLOADERS = {"httpx", "huggingface_hub", "kagglehub", "requests"}
# The first of these that exists holds the weights.
WEIGHTS = (
    "model.weights.h5",
    "model.weights.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)


def is_hub_name(name):
    """Whether a name says that a model lies on a hub.

    >>> is_hub_name("hf://albert/albert-base-v2"), is_hub_name("./folder")
    (True, False)
    """
    return str(name).startswith(SCHEMES) or (
        str(name).startswith("albert_") and _is_built_in(str(name))
    )


def _is_built_in(name):
    """Whether keras-hub publishes a preset of that name."""
    import keras_hub

    return name in keras_hub.models.AlbertBackbone.presets


def local_folder(name):
    """Fetches a model from a hub, unless it was fetched before.

    Args:
        name: string, such as `"hf://albert/albert-base-v2"`.

    Returns:
        Path of the folder with its files.

    Raises:
        FileNotFoundError: if the model has no configuration or weights.
    """
    config = _fetch(name, "config.json")
    if config is None:
        raise FileNotFoundError(
            f"{name} has no config.json. Check the name: "
            "hf://OWNER/MODEL, or kaggle://OWNER/MODEL/keras/VARIANT."
        )
    for file in FILES[1:]:
        _fetch(name, file)
    weights = next((w for w in WEIGHTS if _fetch(name, w)), None)
    if weights is None:
        raise FileNotFoundError(
            f"{name} has no weights. Expected one of {', '.join(WEIGHTS)}."
        )
    if weights.endswith(".json"):
        for part in _parts(config.parent / weights):
            _fetch(name, part)
    return config.parent


def _fetch(name, file):
    """Path of one file of a model, or `None` if it has none of that name."""
    from keras_hub.src.utils.preset_utils import get_file

    try:
        return Path(get_file(name, file))
    except FileNotFoundError:
        return None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in DOWNLOADERS:
            raise
        first = " ".join(str(error).split())[:300]
        raise ValueError(f"{name} could not be fetched. {first}") from None


def _parts(index):
    content = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    parts = set()
    for value in content.values():
        parts |= {value} if isinstance(value, str) else set(value)
    outside = [part for part in parts if Path(part).name != part]
    if outside:
        raise ValueError(
            f"{index} points at {outside[0]!r}, outside its folder. Refused: "
            "the parts of a model lie beside their index."
        )
    return sorted(parts)
