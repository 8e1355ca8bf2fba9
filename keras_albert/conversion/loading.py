"""`from_preset` of a model that another library saved."""

import warnings
from pathlib import Path

from keras_albert.conversion.hub import is_hub_name
from keras_albert.conversion.hub import local_folder
from keras_albert.conversion.opening import kind_of
from keras_albert.conversion.opening import open_source
from keras_albert.conversion.source import MODELS
from keras_albert.conversion.source import build
from keras_albert.conversion.source import load


def load_preset(preset, cls=None, load_weights=True, **kwargs):
    """Loads a model of another library's as one of ours.

    Args:
        preset: string or path: a folder, or a name on a hub.
        cls: class of ours to be made, or `None` for the one that fits.
        load_weights: bool. Whether the weights are loaded, too.
        **kwargs: arguments of the backbone, or, for a task, `dtype` and
            arguments of the task.

    Returns:
        A model, or `None` if the preset is one of ours or unknown.

    Raises:
        ValueError: if it cannot be converted.
    """
    is_remote = is_hub_name(preset)
    folder = local_folder(preset) if is_remote else Path(preset)
    if not _is_foreign(folder):
        return None
    source = open_source(folder, name=str(preset))
    task = source.task if cls is None else _task_of(cls)
    backbone, task_arguments = _split(task, kwargs)
    if not load_weights:
        arguments = {**source.arguments, **backbone}
        return build(source, task, arguments, task_arguments)
    converted = load(source, task=task, backbone=backbone, **task_arguments)
    _warn(converted.report, preset)
    return converted.model


def _is_foreign(folder):
    try:
        return kind_of(folder) != "preset"
    except (FileNotFoundError, ValueError):
        return False  # keras-hub says what is wrong with it


def _task_of(cls):
    for task, ours in MODELS.items():
        if issubclass(ours, cls) or issubclass(cls, ours):
            return task
    raise ValueError(
        f"A checkpoint of another library cannot be loaded as {cls.__name__}. "
        f"Known: {', '.join(ours.__name__ for ours in MODELS.values())}."
    )


def _split(task, kwargs):
    """Arguments of the backbone and of the task."""
    if task == "backbone":
        return kwargs, {}
    kwargs = dict(kwargs)
    backbone = {"dtype": kwargs.pop("dtype")} if "dtype" in kwargs else {}
    return backbone, kwargs


def _warn(report, preset):
    # A new classifier was asked for by giving its classes.
    new = [part for part in report.new_heads if part != "classifier"]
    if new:
        warnings.warn(
            f"{preset} came without {', '.join(new)}: random until trained.",
            stacklevel=4,
        )
