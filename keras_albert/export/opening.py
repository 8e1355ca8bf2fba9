"""From what a user gives to a model and a preprocessor that can be exported."""

import os
from pathlib import Path

from keras_albert.export.signature_shapes import ServedTask

PREPROCESSOR_FILE = "preprocessor.json"
TOKENIZER_FILE = "tokenizer.json"


def open_model(model_or_preset, preprocessor=None):
    """Opens a model with the preprocessor that makes its inputs from text.

    Args:
        model_or_preset: `AlbertTextClassifier`, `AlbertPretrainer`,
            `AlbertBackbone`, or the path of a preset or `.keras` file of one.
        preprocessor: `AlbertTextClassifierPreprocessor`. Defaults to the
            model's own, else to what lies in the preset.

    Returns:
        `(model, preprocessor)`.

    Raises:
        FileNotFoundError: if there is nothing at the path.
        TypeError: if the model is none of the three.
        ValueError: if there is no preprocessor, or it does not fit, or the
            model is quantized.
    """
    from keras_albert.models.backbone import AlbertBackbone
    from keras_albert.models.loading import load_model
    from keras_albert.models.pretrainer import AlbertPretrainer
    from keras_albert.models.text_classifier import AlbertTextClassifier

    model, folder = model_or_preset, None
    if isinstance(model, str | os.PathLike):
        folder = Path(model)
        model = load_model(model)
    kinds = (AlbertTextClassifier, AlbertPretrainer, AlbertBackbone)
    if not isinstance(model, kinds):
        raise TypeError(
            "The export takes an AlbertTextClassifier, an AlbertPretrainer, an "
            "AlbertBackbone or the path of one. "
            f"Received: {type(model).__name__}."
        )
    _check_precision(model)
    if preprocessor is None:
        preprocessor = getattr(model, "preprocessor", None)
    if preprocessor is None and folder is not None:
        preprocessor = _preprocessor_in(folder, model)
    _check_preprocessor(model, preprocessor)
    return model, preprocessor


def served_task(model, preprocessor):
    """Says what clients of the model's export will see.

    Args:
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`.
        preprocessor: `AlbertTextClassifierPreprocessor`.

    Returns:
        `ServedTask`.

    Raises:
        ValueError: for a classifier whose answers are no probabilities of
            exclusive classes.
    """
    from keras_albert.models.pretrainer import AlbertPretrainer
    from keras_albert.models.text_classifier import AlbertTextClassifier

    kind, labels = "backbone", ()
    if isinstance(model, AlbertPretrainer):
        kind = "pretrainer"
    if isinstance(model, AlbertTextClassifier):
        kind, labels = _classifier_kind(model)
    backbone = getattr(model, "backbone", model)
    return ServedTask(
        kind,
        hidden_dim=backbone.hidden_dim,
        sequence_length=preprocessor.sequence_length,
        vocabulary_size=backbone.vocabulary_size,
        labels=labels,
    )


def _classifier_kind(model):
    activation = getattr(model.activation, "__name__", "linear")
    if model.num_classes == 1 and activation in ("linear", "sigmoid"):
        return "regressor", ()
    if activation not in ("linear", "softmax"):
        raise ValueError(
            "The exported answers are probabilities of exclusive classes, from "
            "a classifier with activation None or 'softmax', or one value, "
            "from num_classes=1 and activation None or 'sigmoid'. "
            f"Received: activation={activation!r}."
        )
    numbers = [str(i) for i in range(model.num_classes)]
    return "classifier", tuple(model.labels or numbers)


def _preprocessor_in(folder, model):
    from keras_albert.models.text_classifier_preprocessor import (
        AlbertTextClassifierPreprocessor,
    )
    from keras_albert.tokenizers.loading import load_tokenizer

    if (folder / PREPROCESSOR_FILE).is_file():
        return AlbertTextClassifierPreprocessor.from_preset(str(folder))
    if (folder / TOKENIZER_FILE).is_file():
        backbone = getattr(model, "backbone", model)
        return AlbertTextClassifierPreprocessor(
            load_tokenizer(folder),
            sequence_length=min(512, backbone.max_sequence_length),
        )
    return None


def _check_precision(model):
    modes = {
        mode
        for layer in model._flatten_layers()
        if (mode := getattr(layer, "quantization_mode", None)) is not None
    }
    if modes:
        raise ValueError(
            "The export takes models whose weights are floating-point numbers, "
            f"but this one is quantized to {', '.join(sorted(modes))}. Export "
            'the model as it was before; `dtype="bfloat16"` halves a '
            "SavedModel."
        )


def _check_preprocessor(model, preprocessor):
    if preprocessor is None:
        raise ValueError(
            "The model has no preprocessor, so it takes token ids and cannot "
            "be exported to take strings. Pass `preprocessor="
            "AlbertTextClassifierPreprocessor(tokenizer)`."
        )
    backbone = getattr(model, "backbone", model)
    for name, needed, limit in (
        (
            "sequence_length",
            preprocessor.sequence_length,
            backbone.max_sequence_length,
        ),
        (
            "vocabulary_size",
            preprocessor.tokenizer.vocabulary_size(),
            backbone.vocabulary_size,
        ),
    ):
        if needed > limit:
            raise ValueError(
                f"The preprocessor's {name} is {needed}, but the model bears "
                f"at most {limit}. Make them fit before the export."
            )
