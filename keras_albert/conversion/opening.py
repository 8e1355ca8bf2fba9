"""What kind of checkpoint a path holds, found from its content."""

import re
from pathlib import Path

from keras_albert.conversion import presets
from keras_albert.conversion.google import google_source
from keras_albert.conversion.google import read_config
from keras_albert.conversion.hugging_face import hugging_face_source
from keras_albert.conversion.keras_hub import keras_hub_source
from keras_albert.conversion.tokenizer_files import find_tokenizer
from keras_albert.tokenizers.loading import load_tokenizer

KINDS = (
    "preset",
    "hugging_face",
    "keras_hub",
    "tf_hub",
    "google",
)
EXPECTED = (
    "Expected a preset (config.json, model.weights.h5), a Hugging Face folder "
    "(config.json, model.safetensors), a TF-Hub module (saved_model.pb, "
    "variables/), or a TensorFlow checkpoint (albert_config.json, *.index)."
)


def kind_of(path):
    """Returns which of `KINDS` is at a path.

    Args:
        path: path of a folder, or of a TensorFlow checkpoint without its
            `.index`.

    Raises:
        FileNotFoundError: if there is nothing.
        ValueError: if it is nothing that can be converted.
    """
    path = Path(path)
    if Path(f"{path}.index").is_file():
        return "google"
    if not path.exists():
        raise FileNotFoundError(f"There is nothing at {path}. {EXPECTED}")
    if not path.is_dir():
        raise ValueError(f"{path} is a file. {EXPECTED}")
    config = _config(path)
    registered = str(config.get("registered_name", ""))
    if registered.startswith("keras_albert>"):
        return "preset"
    if registered.startswith(("keras_hub>", "keras_nlp>")):
        return "keras_hub"
    if (path / "variables" / "variables.index").is_file():
        return "tf_hub"
    if any(path.glob("*.index")):
        return "google"
    if "model_type" in config or "architectures" in config:
        return "hugging_face"
    raise ValueError(f"{path} holds nothing that can be converted. {EXPECTED}")


def open_source(path, tokenizer=None, name=None):
    """Opens whatever is at a path, without loading it.

    Args:
        path: path of a folder, or of a TensorFlow checkpoint without its
            `.index`.
        tokenizer: path of a tokenizer, to take the place of the one there.
        name: string or `None`. What the model is called where it came from.

    Returns:
        `Source`, or `Converted` for a preset of ours.

    Raises:
        FileNotFoundError: if something is missing.
        ValueError: if what is there is damaged or cannot be converted.
    """
    path, kind = Path(path), kind_of(path)
    if kind == "preset":
        return presets.read_preset(path)
    if kind == "keras_hub":
        source = keras_hub_source(path)
        if tokenizer is not None:
            source.tokenizer = load_tokenizer(tokenizer)
        return source
    folder = path if path.is_dir() else path.parent
    if kind == "tf_hub":
        folder = path / "assets"
    found, notes = _tokenizer(folder, tokenizer)
    if kind == "hugging_face":
        source = hugging_face_source(path, found, name)
    elif kind == "tf_hub":
        prefix = path / "variables" / "variables"
        source = google_source(prefix, _albert_config(path, folder), found)
        source.kind = "tf_hub" if source.kind == "google" else source.kind
    else:
        prefix = _prefix(path)
        source = google_source(prefix, _albert_config(folder), found)
    source.notes += notes
    return source


def _tokenizer(folder, given):
    if given is not None:
        return load_tokenizer(given), []
    if not folder.is_dir():
        return None, []
    return find_tokenizer(folder)


def _config(folder):
    path = folder / "config.json"
    if not path.is_file():
        return {}
    return read_config(path)


def _albert_config(*folders):
    """The one configuration in Google's terms in these folders."""
    found = [
        path
        for folder in folders
        if folder.is_dir()
        for path in sorted(folder.glob("*.json"))
        if re.search(r"(albert|bert)_config", path.name)
    ]
    if not found:
        raise FileNotFoundError(
            f"There is no albert_config.json in {folders[0]}. A checkpoint "
            "does not say how many layers and heads it has: put the "
            "configuration that came with it beside it."
        )
    if len(found) > 1:
        raise ValueError(
            "Several configurations: "
            f"{', '.join(str(path) for path in found)}. Leave the one that "
            "belongs to the checkpoint."
        )
    return found[0]


def _prefix(path):
    """The checkpoint in a folder: the latest, or the only one."""
    if not path.is_dir():
        return path
    names = sorted(p.name.removesuffix(".index") for p in path.glob("*.index"))
    state = path / "checkpoint"
    if state.is_file():
        text = state.read_text(encoding="utf-8", errors="replace")
        match = re.search(r'^model_checkpoint_path: "(.*)"', text, re.M)
        latest = Path(match[1]).name if match else ""
        if latest in names:
            return path / latest
    if len(names) > 1:
        raise ValueError(
            f"{path} holds several checkpoints: {', '.join(names)}. Name the "
            f"one you want, as {path / names[-1]}."
        )
    return path / names[0]
