"""Tensors -> bodies of REST replies, number by number as the server writes."""

import base64
import json

import numpy as np

from keras_albert.serving.protocol.dtypes import DTYPES
from keras_albert.serving.protocol.statuses import invalid

# Digits that are tried first, and digits that always suffice.
_DIGITS = {"DT_FLOAT": (6, 9), "DT_DOUBLE": (6, 17)}
_WRITABLE = {
    np.dtype(dtype.numpy): dtype
    for dtype in DTYPES
    if dtype.name not in ("DT_HALF", "DT_UINT16")
}


def error_reply(message):
    """The body that tells of an error.

    >>> error_reply('no "x"')
    b'{"error": "no \\\\"x\\\\""}'
    """
    text = json.dumps({"error": message}, ensure_ascii=False)
    return text.encode("utf-8", "replace")


def to_body(text):
    """The bytes of a reply; strings that were no UTF-8 keep their bytes."""
    return text.encode("utf-8", "surrogateescape")


def predict_reply(outputs, is_row):
    """Writes the answer to a predict request.

    Args:
        outputs: dict from output name to NumPy array.
        is_row: bool. Whether the request came row by row.

    Returns:
        Bytes: JSON with `predictions` or `outputs`.

    Raises:
        ServingError: INVALID_ARGUMENT if the outputs have no common first
            dimension, or a type that JSON has no values for.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    if is_row:
        return to_body(f'{{"predictions": {_row_text(outputs)}}}')
    texts = {
        name: _nested(element_texts(name, array), array.shape)
        for name, array in outputs.items()
    }
    return to_body(f'{{"outputs": {_bare_or_object(texts)}}}')


def _row_text(outputs):
    batch_size = None
    for name, array in outputs.items():
        if array.ndim == 0:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if len(array) < 1:
            raise invalid(f"Tensor name: {name} has invalid batch size: 0")
        if batch_size not in (None, len(array)):
            raise invalid(
                f"Tensor name: {name} has inconsistent batch size: "
                f"{len(array)} expecting: {batch_size}"
            )
        batch_size = len(array)
    columns = {}
    for name, array in outputs.items():
        texts = element_texts(name, array)
        size = len(texts) // batch_size
        columns[name] = [
            _nested(texts[i * size : (i + 1) * size], array.shape[1:])
            for i in range(batch_size)
        ]
    rows = (
        _bare_or_object({name: texts[i] for name, texts in columns.items()})
        for i in range(batch_size)
    )
    return f"[{', '.join(rows)}]"


def _bare_or_object(texts):
    """Leaves the name of an output out where it is the only one."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    pairs = (f"{json.dumps(name)}: {text}" for name, text in texts.items())
    return f"{{{', '.join(pairs)}}}"


def _nested(texts, shape):
    if not shape:
        return texts[0]
    if len(shape) == 1:
        return f"[{', '.join(texts)}]"
    size = len(texts) // shape[0] if shape[0] else 0
    parts = (
        _nested(texts[i * size : (i + 1) * size], shape[1:])
        for i in range(shape[0])
    )
    return f"[{', '.join(parts)}]"


def element_texts(name, array):
    """Writes each element of an output as JSON.

    Args:
        name: string. Strings of an output that ends in `_bytes` go as base64.
        array: NumPy array.

    Returns:
        List of string, the elements in order.
    """
    dtype = _WRITABLE.get(array.dtype)
    if dtype is None:
        raise invalid(
            "Failed to write JSON value for tensor type: "
            f"{array.dtype.name}. Make the model give float32."
        )
    flat = array.reshape(-1)
    if dtype.name in _DIGITS:
        return decimal_texts(flat)
    if dtype.name != "DT_STRING":
        return [json.dumps(value) for value in flat.tolist()]
    values = [v if isinstance(v, bytes) else str(v).encode() for v in flat]
    if name.endswith("_bytes"):
        return [f'{{"b64": "{base64.b64encode(v).decode()}"}}' for v in values]
    return [string_text(value) for value in values]


def string_text(value):
    """Writes bytes as a JSON string."""
    text = value.decode("utf-8", "surrogateescape")
    return json.dumps(text, ensure_ascii=False)


def decimal_texts(array):
    """Writes floats: six digits where they suffice, else all.

    Args:
        array: float32 or float64 array of shape `(n,)`.

    Returns:
        List of n strings.

    >>> decimal_texts(np.array([0.2, 1, 1 / 3, 3e-05, np.nan], "float32"))
    ['0.2', '1.0', '0.333333343', '3e-05', 'NaN']
    """
    few, enough = _DIGITS[_WRITABLE[array.dtype].name]
    values = array.tolist()
    texts = [f"{value:.{few}g}" for value in values]
    with np.errstate(over="ignore"):
        exact = np.array(texts, "float64").astype(array.dtype) == array
    for i in np.flatnonzero(~exact):
        texts[i] = f"{values[i]:.{enough}g}"
    return [_marked_as_float(text) for text in texts]


def _marked_as_float(text):
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    return text if "." in text or "e" in text else f"{text}.0"


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
