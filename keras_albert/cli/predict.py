"""`keras-albert predict`: labels for texts, from any form of the model."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            help="Preset folder, .keras file, output of `finetune`, or one "
            "version of an export."
        ),
    ],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to classify.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="One text a line; a tab separates a pair. - is standard input."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="JSON lines instead of a table."),
    ] = False,
    backend: BackendOption = None,
):
    """Classify texts with a fine-tuned model."""
    from keras_albert.cli import show

    rows = [split_pair(line) for line in read_lines(texts or [], file)]
    labels, probabilities = answer(model, rows)
    if as_json:
        for row, label, values in zip(
            rows, labels, probabilities.tolist(), strict=True
        ):
            record = {
                "text": row[0] if len(row) == 1 else list(row),
                "label": label,
                "probabilities": values,
            }
            print(json.dumps(record, ensure_ascii=False))
        return
    show.console().print(
        show.table(
            None,
            ("text", "label", "probability"),
            [
                (" | ".join(row), label, show.percent(values.max()))
                for row, label, values in zip(
                    rows, labels, probabilities, strict=True
                )
            ],
        )
    )


def read_lines(texts, file):
    """Texts of the command line, then those of a file."""
    from keras_albert.tokenizers.normalization import clean_unicode

    lines = [clean_unicode(text) for text in texts]
    if file is not None:
        if str(file) == "-":
            content = sys.stdin.buffer.read()
        elif file.is_file():
            content = file.read_bytes()
        else:
            raise FileNotFoundError(
                f"There is no file {file}. Expected one text a line."
            )
        lines += _lines_of(content, file)
    if not lines:
        raise ValueError(
            "There is nothing to classify. Give texts after the model, or "
            "--file FILE with one text a line."
        )
    return lines


def _lines_of(content, file):
    from keras_albert.training.labelled_text import decode_text

    name = "The standard input" if str(file) == "-" else file
    # `splitlines` would end lines at characters that texts hold, too.
    lines = decode_text(content, name).split("\n")
    return lines if lines[-1] else lines[:-1]


def split_pair(line):
    """A line as a tuple of one text, or of two at a tab."""
    return tuple(line.split("\t", 1))


def answer(path, rows):
    """Classifies rows of one or two texts.

    Args:
        path: path of a model or of a SavedModel.
        rows: list of tuples, all of one length.

    Returns:
        `(labels, probabilities)`: list of strings, and an array of shape
        `(len(rows), num_classes)`.
    """
    if len({len(row) for row in rows}) > 1:
        raise ValueError(
            "Some lines hold a pair of texts (with a tab) and some one text. "
            "Give all lines the same number of texts."
        )
    columns = [list(column) for column in zip(*rows, strict=True)]
    if (path / "saved_model.pb").is_file():
        from keras_albert.export import predict_saved_model

        return predict_saved_model(path, *columns)
    return classify(load_classifier(path), columns)


def load_classifier(path):
    """The classifier at `path`, which may be a run's output folder."""
    from keras_albert.models import AlbertTextClassifier
    from keras_albert.models import load_model

    if (path / "preset").is_dir():
        path = path / "preset"
    model = load_model(path)
    if not isinstance(model, AlbertTextClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which gives no labels. "
            "Fine-tune it first: keras-albert finetune."
        )
    if model.num_classes == 1:
        raise ValueError(
            f"{path} holds a regressor, which gives no labels but a number. "
            "Ask it in Python, with load_model(…).predict([…]), or export and "
            "serve it."
        )
    return model


def classify(model, columns):
    """Labels and probabilities of an `AlbertTextClassifier`."""
    import numpy as np

    x = columns[0] if len(columns) == 1 else tuple(columns)
    outputs = np.asarray(model.predict(x, verbose=0), "float64")
    if getattr(model.activation, "__name__", "") != "softmax":
        outputs = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        outputs /= outputs.sum(axis=1, keepdims=True)
    names = model.labels or [str(i) for i in range(outputs.shape[1])]
    return [names[i] for i in outputs.argmax(axis=1)], outputs
