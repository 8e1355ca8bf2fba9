"""Classifies strings with an exported SavedModel."""

from pathlib import Path

from keras_albert.export.python_answers import as_bytes
from keras_albert.export.session_calls import call_signatures


def predict_saved_model(path, texts, text_pairs=None):
    """Classifies strings with a SavedModel, in a fresh process.

    Args:
        path: folder that holds `saved_model.pb`.
        texts: list of `str` or `bytes`.
        text_pairs: list of second texts, one for each of `texts`, or `None`.

    Returns:
        `(labels, probabilities)`: a list of `str` and a float32 array of
        shape `(len(texts), num_classes)`.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if it is no classifier's, or the texts are no lists of as
            many texts.
    """
    _check_texts(texts, texts if text_pairs is None else text_pairs)
    call = ("serving_default", {"text": as_bytes(texts)})
    if text_pairs is not None:
        columns = {
            "text_a": as_bytes(texts),
            "text_b": as_bytes(text_pairs),
        }
        call = ("pair", columns)
    (answer,) = call_signatures(Path(path), [call])
    if "label" not in answer:
        raise ValueError(
            f"The SavedModel in {path} gives {', '.join(answer)}, no labels. "
            "Export a classifier, or ask it through a server."
        )
    labels = [label.decode() for label in answer["label"]]
    return labels, answer["probabilities"].astype("float32")


def _check_texts(texts, seconds):
    for column in (texts, seconds):
        if isinstance(column, (str, bytes)):
            raise ValueError(
                "Give a list of texts. Received: "
                f"{type(column).__name__}; put it in a list."
            )
        for text in column:
            if not isinstance(text, (str, bytes)):
                raise ValueError(
                    "Texts must be strings. Received: "
                    f"{text!r} of type {type(text).__name__}."
                )
    if len(texts) != len(seconds):
        raise ValueError(
            "Every text of a pair needs its second one. Received: "
            f"{len(texts)} texts and {len(seconds)} second texts."
        )
