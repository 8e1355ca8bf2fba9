"""A trained classifier -> `<output>/<version>/`, ready for a server."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

from keras_albert.export.verification import check_texts
from keras_albert.export.verification import last_error
from keras_albert.export.verification import verify_saved_model

# Largest difference of a probability between Python and the export. With
# half-precision layers, two compilers already round differently.
FLOAT32_TOLERANCE = 1e-5
HALF_PRECISION_TOLERANCE = 2e-2


def export_saved_model(
    model_or_preset, output, *, version=None, verify=True, texts=()
):
    """Exports a text classifier as a SavedModel that takes strings.

    Signatures: `serving_default` with input `text`, and `pair` with inputs
    `text_a` and `text_b`, all strings of shape `(None,)`. Both return
    `label`, strings of shape `(None,)`, and `probabilities`, float32 of shape
    `(None, num_classes)`. Whatever backend the model was trained on, the
    SavedModel holds plain TensorFlow operations that a stock TensorFlow
    Serving (2.18 or later) runs.

    It is written beside its place, checked, then renamed, so that a server
    that watches `output` never sees half of it. Versions that are there are
    never touched.

    Args:
        model_or_preset: `AlbertTextClassifier` with a preprocessor, or the
            path of its preset folder or `.keras` file.
        output: folder of the model; the export goes to a folder in it that
            is named by `version`.
        version: int. Defaults to the next free one.
        verify: bool. Compare the answers with `model.predict` in a fresh
            process, see `verify_saved_model`. Defaults to `True`.
        texts: list of strings to check besides the built-in odd ones.

    Returns:
        The path of the version's folder.

    Raises:
        FileNotFoundError: if the preset does not exist.
        TypeError: if the model is not a classifier, or `version` no integer.
        ValueError: if the model has no preprocessor, the version exists, or a
            check fails. Nothing is left at the target.

    Example:

    ```python
    path = export_saved_model(classifier, "served/reviews")
    tf.saved_model.load(path).signatures["serving_default"](
        text=tf.constant(["a fine film"])
    )
    ```
    """
    output = Path(output)
    version = _free_version(output, version)
    model = _classifier(model_or_preset)
    is_new = not output.exists()
    output.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=output))
    try:
        _write(model, unfinished)
        if verify:
            _verify(model, unfinished, texts)
        # mkdtemp makes folders private; a server has a user of its own.
        unfinished.chmod(0o755)
        target = output / str(version)
        _free_version(output, version)  # it may have appeared meanwhile
        os.rename(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        if is_new and not any(output.iterdir()):
            output.rmdir()
        raise
    return target


def _free_version(output, version):
    if output.exists() and not output.is_dir():
        raise ValueError(
            f"`output` must be a folder, but {output} is a file. Choose "
            "another name."
        )
    taken = set()
    if output.is_dir():
        taken = {int(p.name) for p in output.iterdir() if p.name.isdecimal()}
    if version is None:
        return max(taken, default=0) + 1
    if isinstance(version, bool) or not isinstance(version, (int, np.integer)):
        raise TypeError(
            "`version` must be an integer, as TensorFlow Serving orders "
            f"versions by number. Received: version={version!r}."
        )
    if version < 0:
        raise ValueError(
            f"`version` must not be negative. Received: version={version}."
        )
    if version in taken:
        raise ValueError(
            f"Version {version} exists in {output}. Leave `version` out to "
            f"take the next free one, {max(taken) + 1}."
        )
    return int(version)


def _classifier(model_or_preset):
    from keras_albert.models.loading import load_model
    from keras_albert.models.text_classifier import AlbertTextClassifier

    model = model_or_preset
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    if not isinstance(model, AlbertTextClassifier):
        raise TypeError(
            "The export takes an AlbertTextClassifier or the path of one. "
            f"Received: {type(model).__name__}. Fine-tune a classifier first."
        )
    if model.preprocessor is None:
        raise ValueError(
            "The model has no preprocessor, so it takes token ids and cannot "
            "be exported to take strings. Set `model.preprocessor = "
            "AlbertTextClassifierPreprocessor(tokenizer)`."
        )
    return model


def _write(model, folder):
    if keras.config.backend() == "tensorflow":
        from keras_albert.export.served_model import write_saved_model

        write_saved_model(model, folder)
        return
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        run = subprocess.run(
            [
                *(sys.executable, "-m", "keras_albert.export.served_model"),
                *(preset, str(folder), model.backbone.dtype_policy.name),
            ],
            env={**os.environ, "KERAS_BACKEND": "tensorflow"},
            capture_output=True,
            text=True,
            errors="replace",
        )
    if run.returncode != 0:
        raise ValueError(
            "The model could not be exported under the TensorFlow backend: "
            f"{last_error(run.stderr)}"
        )


def _verify(model, folder, texts):
    texts, pairs = check_texts(texts)
    decoded = [_decode(text) for text in texts]
    decoded_pairs = [(_decode(a), _decode(b)) for a, b in pairs]
    left, right = zip(*decoded_pairs, strict=True)
    half = model.backbone.compute_dtype != "float32"
    verify_saved_model(
        folder,
        texts,
        _predict(model, decoded),
        text_pairs=pairs,
        expected_pairs=_predict(model, (list(left), list(right))),
        labels=model.labels,
        weight_bytes=_weight_bytes(model),
        tokenizer_bytes=_tokenizer_bytes(model.preprocessor.tokenizer),
        tolerance=HALF_PRECISION_TOLERANCE if half else FLOAT32_TOLERANCE,
    )


def _predict(model, x):
    """Returns probabilities by way of Keras, in NumPy from the logits on."""
    outputs = np.asarray(model.predict(x, batch_size=8, verbose=0), "float64")
    if getattr(model.activation, "__name__", None) == "softmax":
        return outputs
    outputs = np.exp(outputs - outputs.max(-1, keepdims=True))
    return outputs / outputs.sum(-1, keepdims=True)


def _decode(text):
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _weight_bytes(model):
    size = {"bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1}
    return sum(
        int(np.prod(w.shape)) * size.get(str(w.dtype), 4) for w in model.weights
    )


def _tokenizer_bytes(tokenizer):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_assets(folder)
        return sum(f.stat().st_size for f in Path(folder).iterdir())
