"""Texts and labels held in memory, before they become a dataset.

TensorFlow's strings are UTF-8 and its labels numbers; what Python has beyond
that must be put right, or refused, before a graph sees it.
"""

import numpy as np

from keras_albert.tokenizers.normalization import clean_unicode


def example_count(x):
    """Returns the number of examples, or `None` where only reading them tells.

    Args:
        x: inputs of a model: texts, a pair of lists, a dict of arrays, or
            a dataset.

    Example:

    >>> example_count((["a", "b"], ["c", "d"]))
    2
    """
    while isinstance(x, (tuple, dict)) and x:
        x = x[0] if isinstance(x, tuple) else next(iter(x.values()))
    if isinstance(x, list):
        return len(x)
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape else None


def clean_texts(x):
    """Returns inputs in memory with strings that UTF-8 can hold.

    Args:
        x: a list or an array of strings, or a tuple of two of these; anything
            else comes back as it is.

    Raises:
        ValueError: where a list of texts holds something else.

    Example:

    >>> clean_texts(["caf\\ud800"])
    ['caf\\ufffd']
    """
    if isinstance(x, tuple):
        return tuple(clean_texts(part) for part in x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "UO":
        flat = [_clean_text(text) for text in x.reshape(-1).tolist()]
        return np.array(flat, object).reshape(x.shape)
    if isinstance(x, list):
        return [_clean_text(text) for text in x]
    return x


def _clean_text(text):
    if not isinstance(text, (str, bytes)):
        raise ValueError(
            f"Texts must be strings. Received: {text!r} of type "
            f"{type(text).__name__}. Give a list of strings, or for pairs a "
            "tuple of two such lists."
        )
    return clean_unicode(text)


def class_ids(y, labels):
    """Returns labels as a model counts them: names become their numbers.

    Args:
        y: list, array or tensor of labels.
        labels: list of the classes' names, in id order, or `None`.

    Returns:
        An int32 array for names; all else as it came.

    Raises:
        ValueError: for names where there are no `labels`, or not these.

    Example:

    >>> class_ids(["good", "bad"], ["bad", "good"])
    array([1, 0], dtype=int32)
    """
    names = _names(y)
    if not names:
        return y
    if labels is None:
        raise ValueError(
            f"The classes' names are not known. Received labels such as "
            f"{names[0]!r}, and a model made without `labels`. Make it with "
            "labels=[…], or give each class's number."
        )
    index = {label: number for number, label in enumerate(labels)}
    unknown = sorted(set(names) - set(index))
    if unknown:
        raise ValueError(
            f"The model's labels are {list(labels)}. Received others: "
            f"{unknown[:5]}."
        )
    return np.array([index[name] for name in names], "int32")


def _names(y):
    """The labels as a list of strings; empty where they are no strings."""
    if "string" in str(getattr(y, "dtype", "")) and hasattr(y, "numpy"):
        y = y.numpy()
    if isinstance(y, np.ndarray):
        if y.dtype.kind not in "USO":
            return []
        y = y.reshape(-1).tolist()
    if not isinstance(y, (list, tuple)):
        return []
    if not y or not all(isinstance(name, (str, bytes)) for name in y):
        return []
    return [clean_unicode(name) for name in y]
