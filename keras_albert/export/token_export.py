"""A model -> `<output>/<format>/<version>/`: token ids in, numbers out.

model.onnx, .tflite or .pt2   the graph, each weight once
model.json                    names, dtypes, shapes, labels
tokenizer.json, assets/       the vocabulary, as `load_tokenizer` reads it
conformance.json              texts, their ids and the right answers
README.md
"""

import contextlib
import dataclasses
import json
from pathlib import Path

from keras_albert.data.whole_files import write_atomically
from keras_albert.export import litert_format
from keras_albert.export import onnx_format
from keras_albert.export import torch_format
from keras_albert.export.conformance import make_cases
from keras_albert.export.conformance import read_cases
from keras_albert.export.conformance import write_cases
from keras_albert.export.opening import open_model
from keras_albert.export.opening import served_task
from keras_albert.export.token_readme import token_readme
from keras_albert.export.token_signature import token_signature
from keras_albert.export.token_signature import with_sizes
from keras_albert.export.version_folders import writing_version

FORMATS = {
    module.NAME: module for module in (onnx_format, litert_format, torch_format)
}
LENGTHS = (64, 128, 256)
# The graph of a model that has hardly any weights.
OVERHEAD_BYTES = 2**20


@dataclasses.dataclass(frozen=True)
class TokenExport:
    """What an export of a token-id model came to.

    Args:
        path: path of the version's folder.
        model_file: path of the graph with the weights.
        difference: float. The largest difference to the Keras model, relative
            to numbers larger than 1; `None` if it was not looked at.
    """

    path: Path
    model_file: Path
    difference: float | None


def export_token_model(
    model_or_preset,
    output,
    *,
    format,
    version=None,
    verify=True,
    preprocessor=None,
    lengths=LENGTHS,
    report=None,
):
    """Exports a model that takes token ids, for other runtimes.

    A classifier gives `probabilities`, a regressor `value`, a backbone
    `sequence_output`, `pooled` and `mean_pooled`, a pretrainer the logits
    `masked_lm` (at `mask_positions`) and `sentence_order`. All is float32;
    ids are int32. The folder is written aside, checked, then renamed.

    Args:
        model_or_preset: `AlbertTextClassifier`, `AlbertPretrainer` or
            `AlbertBackbone` of any backend, or the path of one.
        output: folder of the model; the export goes to
            `<output>/<format>/<version>`, which TensorFlow Serving does not
            look at.
        format: `"onnx"` for ONNX Runtime, `"litert"` for LiteRT, or
            `"torch"` for PyTorch without Keras.
        version: int. Defaults to the next free one.
        verify: bool. Run the file in its runtime and compare the answers
            with those of the Keras model. Defaults to `True`.
        preprocessor: `AlbertTextClassifierPreprocessor`. Defaults to the
            model's own or the preset's.
        lengths: list of int. The sequence lengths of LiteRT's signatures; a
            model with fewer positions gets one for all of them instead of the
            longer ones. Defaults to 64, 128 and 256.
        report: function that is called with the name of each stage as it
            begins, or `None`.

    Returns:
        `TokenExport`.

    Raises:
        FileNotFoundError: if the preset does not exist.
        ImportError: if the extra of the format is not installed.
        TypeError: if the model is of another kind.
        ValueError: for an unknown format or impossible lengths, if the
            version exists, or if a check fails. Nothing is left at the
            target.

    Example:

    ```python
    made = export_token_model("reviews", "exports/reviews", format="onnx")
    made.model_file  # exports/reviews/onnx/1/model.onnx
    ```
    """
    report = report or (lambda stage: None)
    if format not in FORMATS:
        raise ValueError(
            f"`format` must be one of {', '.join(FORMATS)}. "
            f"Received: format={format!r}."
        )
    written = FORMATS[format]
    written.check_installed()
    check_lengths(lengths)
    with writing_version(Path(output) / format, version) as (folder, target):
        report("Opening the model")
        model, preprocessor = open_model(model_or_preset, preprocessor)
        task = served_task(model, preprocessor)
        lengths = fitting_lengths(lengths, _num_positions(model))

        report("Asking the Keras model")
        write_cases(folder, make_cases(task, model, preprocessor, lengths))
        preprocessor.tokenizer.save_to_preset(str(folder))
        _describe(folder, task, written, lengths, preprocessor)

        report(f"Building the graph and writing {written.MODEL_FILE}")
        weight_bytes = _write(folder, task, model, written, lengths)
        found = None
        if verify:
            report("Asking the file in its runtime")
            check_size(folder / written.MODEL_FILE, weight_bytes)
            # As stored: what others will judge by is what is judged here.
            cases = read_cases(folder)
            with _told_as_value_error(written.MODEL_FILE, "run"):
                found = written.check(folder, task, cases, lengths)
    return TokenExport(target, target / written.MODEL_FILE, found)


def check_lengths(lengths):
    """Fails for lengths that no text fits in."""
    good = [isinstance(n, int) and n >= 3 for n in lengths]
    if not good or not all(good):
        raise ValueError(
            "`lengths` must be integers of at least 3, room for [CLS], a token "
            f"and [SEP]. Received: lengths={lengths!r}."
        )


def fitting_lengths(lengths, limit):
    """Replaces lengths that a model does not bear by its longest.

    Args:
        lengths: list of int.
        limit: int. Number of positions of the model.

    Returns:
        Sorted list of int.

    >>> fitting_lengths((64, 128, 256), 100)
    [64, 100]
    """
    return sorted({min(length, limit) for length in lengths})


def check_size(path, weight_bytes):
    """Fails if weights stand in a file more than once.

    Args:
        path: path of the file.
        weight_bytes: int. Size of the weights, each counted once.

    Raises:
        ValueError: if it is too large.
    """
    size = path.stat().st_size
    limit = 1.1 * weight_bytes + OVERHEAD_BYTES
    if size > limit:
        raise ValueError(
            f"{path.name} takes {size} bytes for {weight_bytes} bytes of "
            f"weights; at most {limit:.0f} were expected. Some weights seem to "
            "be stored more than once."
        )


def _write(folder, task, model, written, lengths):
    built = written.build(task, model)
    with _told_as_value_error(written.MODEL_FILE, "convert"):
        written.write(folder, task, built, lengths)
    return built.weight_bytes()


@contextlib.contextmanager
def _told_as_value_error(name, action):
    """The runtimes' errors are of many kinds, and long."""
    try:
        yield
    except (ImportError, OSError, ValueError):
        raise
    except Exception as error:
        (line, *_) = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"{name} does not {action}: {line}") from error


def _describe(folder, task, written, lengths, preprocessor):
    signature = {
        part: {
            name: [dtype, with_sizes(shape, written.SIZES)]
            for name, (dtype, shape) in tensors.items()
        }
        for part, tensors in token_signature(task).items()
    }
    tokenizer = preprocessor.tokenizer
    description = {
        "format": written.NAME,
        "kind": task.kind,
        **signature,
        "labels": list(task.labels),
        "lengths": lengths,
        "special_tokens": {
            "[PAD]": tokenizer.pad_token_id,
            "[CLS]": tokenizer.cls_token_id,
            "[SEP]": tokenizer.sep_token_id,
            "[MASK]": tokenizer.mask_token_id,
        },
    }
    text = json.dumps(description, ensure_ascii=False, indent=2)
    write_atomically(folder / "model.json", text + "\n")
    readme = token_readme(
        task, signature, written.MODEL_FILE, written.example(signature, lengths)
    )
    write_atomically(folder / "README.md", readme)


def _num_positions(model):
    return getattr(model, "backbone", model).max_sequence_length
