"""Opening whatever kind of saved model a path holds."""

import zipfile
from pathlib import Path

import keras

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.foreign_presets import load_foreign_preset
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.tokenizers.vocabulary_folder import read_json

_CLASSES = {
    cls.__name__: cls
    for cls in (AlbertBackbone, AlbertPretrainer, AlbertTextClassifier)
}


def load_model(path, **kwargs):
    """Returns the model saved at `path`, of the class it was saved as.

    Args:
        path: path of a `.keras` file or of a preset folder; or a folder of
            Hugging Face, keras-hub or Google's code, or a name on a hub such
            as `"hf://albert/albert-base-v2"`, which are converted.
        **kwargs: passed to the class's `from_preset` for a folder.

    Raises:
        FileNotFoundError: if there is nothing at `path`.
        ValueError: if what is there is neither, or not a model of ours.
    """
    if "://" in str(path):
        return _load_from_hub(str(path), kwargs)
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"There is no model at {path}. Expected a .keras file or a "
            "preset folder, as written by `save` or `save_to_preset`."
        )
    if path.is_file():
        return _load_file(path, kwargs)
    foreign = load_foreign_preset(path, **kwargs)
    if foreign is not None:
        return foreign
    return _class_of_preset(path).from_preset(str(path), **kwargs)


def _load_from_hub(name, kwargs):
    foreign = load_foreign_preset(name, **kwargs)
    if foreign is not None:
        return foreign
    from keras_hub.src.utils.preset_utils import get_file

    folder = Path(get_file(name, "config.json")).parent
    return _class_of_preset(folder).from_preset(name, **kwargs)


def _load_file(path, kwargs):
    if path.suffix != ".keras":
        raise ValueError(
            f"{path} is not a saved model: expected a file ending in .keras "
            "or a preset folder. For a .weights.h5 file, build the model and "
            "call its `load_weights`."
        )
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is damaged or cut off: it is not the archive that `save` "
            "writes. Copy it again, or save the model again."
        )
    return keras.saving.load_model(path, **kwargs)


def _class_of_preset(folder):
    # Both are read, so that a damaged one is named.
    found = {
        folder / name: content
        for name in ("task.json", "config.json")
        if (content := read_json(folder / name)) is not None
    }
    if not found:
        raise ValueError(
            f"{folder} is not a preset folder: it holds neither task.json "
            "nor config.json. Pass the folder given to `save_to_preset`."
        )
    file, content = next(iter(found.items()))
    class_name = content.get("class_name")
    if class_name not in _CLASSES:
        raise ValueError(
            f"{file} holds a {class_name!r}, expected one of "
            f"{', '.join(_CLASSES)}. Load it with the library it came from."
        )
    return _CLASSES[class_name]
