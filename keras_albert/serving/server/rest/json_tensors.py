"""JSON values -> tensors, by the rules of TensorFlow Serving's REST API."""

import base64
import binascii
import json

import numpy as np

from keras_albert.serving.protocol.dtypes import BY_NAME
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid

# Error texts quote what came; a whole request would be no help.
QUOTED_CHARACTERS = 200
# As NumPy has it; more would also be more calls than Python allows.
MAX_DIMENSIONS = 64
_JSON_TYPES = {
    type(None): "Null",
    bool: "Bool",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}
_INT32 = (-(2**31), 2**31 - 1)
_INTEGER_RANGES = {
    "DT_INT8": _INT32,
    "DT_INT16": _INT32,
    "DT_INT32": _INT32,
    "DT_UINT8": _INT32,
    "DT_INT64": (-(2**63), 2**63 - 1),
    "DT_UINT32": (0, 2**32 - 1),
    "DT_UINT64": (0, 2**64 - 1),
}


def quoted(value):
    """Writes a JSON value for an error text, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # parsing it took less of the stack than writing
        return "..."
    if len(text) > QUOTED_CHARACTERS:
        return text[:QUOTED_CHARACTERS] + "..."
    return text


def json_type(value):
    """Names the JSON type of a value, as error texts do."""
    if isinstance(value, bool):
        return str(value)
    return _JSON_TYPES[type(value)]


def is_base64(value):
    """Whether a JSON value is `{"b64": "..."}`, which stands for bytes."""
    return (
        isinstance(value, dict)
        and len(value) == 1
        and isinstance(value.get("b64"), str)
    )


def decode_base64(value):
    """Decodes `{"b64": "..."}`."""
    if not is_base64(value):
        raise invalid(
            f"JSON Value: {quoted(value)} not formatted correctly for base64 "
            "data"
        )
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def dense_shape(value):
    """The shape of nested lists, judged by their first elements."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def flatten(value, dtype):
    """Converts nested lists of equal lengths.

    Args:
        value: a JSON value: an element, or nested lists of such.
        dtype: string, such as `"DT_INT64"`.

    Returns:
        `(flat, shape)`: list of converted elements and tuple.

    Raises:
        ServingError: INVALID_ARGUMENT if the lists are ragged or too deep or
            an element has the wrong type; UNIMPLEMENTED if JSON has no such
            type.
    """
    shape = dense_shape(value)
    _check_dimensions(shape)
    flat = []
    _flatten(value, 0, shape, converter(dtype), flat)
    return flat, shape


def _flatten(value, level, shape, convert, flat):
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {quoted(value)} found at incorrect level: "
                f"{level + 1} in the JSON DOM. Expected at level: {len(shape)}"
            )
        flat.append(convert(value))
        return
    if level >= len(shape):
        raise invalid(
            f"Encountered list at unexpected level: {level} expected < "
            f"{len(shape)}"
        )
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: "
            f"{level} expected size: {shape[level]}"
        )
    for element in value:
        _flatten(element, level + 1, shape, convert, flat)


def as_array(flat, shape, dtype):
    """Makes the array of converted elements.

    Args:
        flat: list.
        shape: tuple.
        dtype: string.

    Returns:
        NumPy array of that shape; `bytes` in objects for strings.

    Raises:
        ServingError: INVALID_ARGUMENT for too many dimensions.
    """
    _check_dimensions(shape)
    numpy = BY_NAME[dtype].numpy
    if numpy is object:
        array = np.empty(len(flat), object)
        array[:] = flat
    elif dtype in ("DT_INT8", "DT_INT16", "DT_UINT8"):
        array = np.array(flat, np.int64).astype(numpy)
    else:
        with np.errstate(over="ignore"):  # too large for float32 is infinite
            array = np.array(flat, numpy)
    return array.reshape(shape)


def _check_dimensions(shape):
    if len(shape) > MAX_DIMENSIONS:
        raise invalid(
            f"A tensor has at most {MAX_DIMENSIONS} dimensions. Received "
            f"{len(shape)} nested lists."
        )


def converter(dtype):
    """Finds the function that checks and converts one element.

    Raises:
        ServingError: UNIMPLEMENTED if JSON has no such type.
    """
    if dtype in ("DT_FLOAT", "DT_DOUBLE"):
        return lambda value: _number(value, dtype)
    if dtype in _INTEGER_RANGES:
        return lambda value: _integer(value, dtype)
    if dtype == "DT_BOOL":
        return lambda value: _boolean(value, dtype)
    if dtype == "DT_STRING":
        return lambda value: _string(value, dtype)
    raise ServingError(
        "UNIMPLEMENTED",
        f"Conversion of JSON values to type: {dtype.removeprefix('DT_')} is "
        "not possible. Send this tensor by gRPC.",
    )


def _number(value, dtype):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(value, dtype)
    try:
        return float(value)
    except OverflowError:  # an integer of over 300 digits
        raise invalid(
            "JSON Parse error: Number too big to be stored in double."
        ) from None


def _integer(value, dtype):
    low, high = _INTEGER_RANGES[dtype]
    # Not isinstance: `true` is no integer, nor is `1.0`.
    if type(value) is not int or not low <= value <= high:
        raise _wrong_type(value, dtype)
    return value


def _boolean(value, dtype):
    if not isinstance(value, bool):
        raise _wrong_type(value, dtype)
    return value


def _string(value, dtype):
    if isinstance(value, dict):
        return decode_base64(value)
    if not isinstance(value, str):
        raise _wrong_type(value, dtype)
    return to_bytes(value)


def to_bytes(text):
    """The UTF-8 bytes of a string that `parse_json` gave."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair among bytes that are no UTF-8
        raise invalid(
            "JSON Parse error: The surrogate pair in string is invalid."
        ) from None


def _wrong_type(value, dtype):
    return invalid(
        f"JSON Value: {quoted(value)} Type: {json_type(value)} is not of "
        f"expected type: {BY_NAME[dtype].short}"
    )
