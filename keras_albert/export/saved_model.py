"""A model -> `<output>/<version>/`, checked, ready for a server."""

import dataclasses
import json
import tempfile
from pathlib import Path

import keras
import numpy as np

from keras_albert.export.answer_checks import Differences
from keras_albert.export.child_process import run_python
from keras_albert.export.opening import open_model
from keras_albert.export.opening import served_task
from keras_albert.export.python_answers import PythonAnswers
from keras_albert.export.verification import check_texts
from keras_albert.export.verification import verify_saved_model
from keras_albert.export.version_folders import writing_version
from keras_albert.export.warm_up_records import write_warm_up_records

DTYPES = {"float32": 4, "bfloat16": 2}


@dataclasses.dataclass(frozen=True)
class Export:
    """What an export came to.

    Args:
        path: path of the version's folder.
        signatures: dict as of `ServedTask.signatures`.
        differences: `Differences` to the Python model, `None` if they were
            not looked at.
    """

    path: Path
    signatures: dict
    differences: Differences | None


def export_saved_model(model_or_preset, output, **options):
    """Exports a model as a SavedModel that takes strings.

    Whatever backend the model was trained on, the SavedModel holds plain
    TensorFlow operations that a stock TensorFlow Serving (2.18 or later)
    runs. It is written beside its place, checked, then renamed, so that a
    server that watches `output` never sees half of it. Versions that are
    there are never touched.

    Signatures, all with a free first dimension: `serving_default` takes
    `text` and gives `label` and `probabilities` (`AlbertTextClassifier`), one
    `value` (the same with `num_classes=1`), the likeliest `tokens` and their
    `scores` at each typed `[MASK]` (`AlbertPretrainer`), or the vectors
    `pooled` and `mean_pooled` (`AlbertBackbone`). Beside it there are, where
    they fit, `pair`, `tokens`, `classify`, `regress`, `embed`, `fill_mask`
    and `sentence_order`; `keras_albert.export.ServedTask` lists names, dtypes
    and shapes.

    Args:
        model_or_preset: a model, or the path of its preset or `.keras` file.
        output: folder of the model; the export goes to a folder in it that
            is named by the version.
        **options: see `export_model`.

    Returns:
        The path of the version's folder.

    Example:

    ```python
    path = export_saved_model(classifier, "served/reviews")
    tf.saved_model.load(path).signatures["serving_default"](
        text=tf.constant(["a fine film"])
    )
    ```
    """
    return export_model(model_or_preset, output, **options).path


def export_model(
    model_or_preset,
    output,
    *,
    version=None,
    verify=True,
    texts=(),
    preprocessor=None,
    dtype="float32",
    report=None,
):
    """Exports as `export_saved_model`, and tells what it came to.

    Args:
        model_or_preset: `AlbertTextClassifier`, `AlbertPretrainer` or
            `AlbertBackbone`, or the path of one.
        output: folder of the model.
        version: int. Defaults to the next free one.
        verify: bool. Compare the answers with the Python model's in a fresh
            process, see `verify_saved_model`. Defaults to `True`.
        texts: list of strings to check besides the built-in odd ones.
        preprocessor: `AlbertTextClassifierPreprocessor`. Defaults to the
            model's own or the preset's.
        dtype: `"float32"` or `"bfloat16"`: how the weights are stored and
            multiplied. Results are float32 either way. Defaults to
            `"float32"`.
        report: function that is called with the name of each stage as it
            begins, or `None`.

    Returns:
        `Export`.

    Raises:
        FileNotFoundError: if the preset does not exist.
        TypeError: if the model is of another kind, or `version` no integer.
        ValueError: if the model has no preprocessor, the version exists, or a
            check fails. Nothing is left at the target.
    """
    report = report or (lambda stage: None)
    if dtype not in DTYPES:
        raise ValueError(
            f"`dtype` must be one of {', '.join(DTYPES)}. "
            f"Received: dtype={dtype!r}."
        )
    with writing_version(output, version) as (unfinished, target):
        report("Opening the model")
        model, preprocessor = open_model(model_or_preset, preprocessor)
        task = served_task(model, preprocessor)
        signatures = task.signatures()
        report("Building the graph and writing the SavedModel")
        _write(model, preprocessor, unfinished, dtype)
        write_warm_up_records(unfinished, signatures, target.parent.name)
        found = None
        if verify:
            found = _verify(
                task, model, preprocessor, unfinished, texts, dtype, report
            )
    return Export(target, signatures, found)


def _write(model, preprocessor, folder, dtype):
    if keras.config.backend() == "tensorflow":
        from keras_albert.export.served_model import write_saved_model

        write_saved_model(model, preprocessor, folder, dtype)
        return
    backbone = getattr(model, "backbone", model)
    options = {
        "dtype": dtype,
        "active_layers": backbone.encoder.active_layers,
    }
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        preprocessor.save_to_preset(preset)
        run_python(
            [
                *("-m", "keras_albert.export.served_model"),
                *(preset, str(folder), json.dumps(options)),
            ],
            "The model could not be exported under the TensorFlow backend",
            KERAS_BACKEND="tensorflow",
        )


def _verify(task, model, preprocessor, folder, texts, dtype, report):
    report("Asking the Python model")
    expected = PythonAnswers(task, model, preprocessor).answers(
        *check_texts(texts)
    )
    report("Checking the SavedModel in a fresh process, as a server runs it")
    return verify_saved_model(
        folder,
        task.signatures(),
        expected,
        weight_bytes=_weight_bytes(model, dtype),
        tokenizer_bytes=_tokenizer_bytes(preprocessor.tokenizer),
        dtype=dtype,
    )


def _weight_bytes(model, dtype):
    """Bytes of the weights; those of the heads stay in float32."""
    backbone = getattr(model, "backbone", model)
    total, encoder = _count(model), _count(backbone)
    return DTYPES[dtype] * encoder + DTYPES["float32"] * (total - encoder)


def _count(model):
    return sum(int(np.prod(weight.shape)) for weight in model.weights)


def _tokenizer_bytes(tokenizer):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_assets(folder)
        return sum(f.stat().st_size for f in Path(folder).iterdir())
