"""What users pass and get: Python values to and from tensors."""

import base64

import numpy as np

from keras_albert.serving.protocol.dtypes import BY_NAME


def named_inputs(inputs, signature):
    """Turns what a user passes into one array per input.

    Args:
        inputs: dict from input name to values, or bare values where the
            signature has one input. Values are a list or an array.
        signature: `Signature`.

    Returns:
        Dict from input name to NumPy array of the signature's type.

    Raises:
        ValueError: if inputs are missing or too many, values do not fit the
            type, or two inputs have different lengths.
    """
    expected = list(signature.inputs)
    if not isinstance(inputs, dict):
        if len(expected) != 1:
            raise ValueError(
                f"The signature {signature.name} has the inputs {expected}. "
                "Pass a dict with a list for each."
            )
        inputs = {expected[0]: inputs}
    if set(inputs) != set(expected):
        raise ValueError(
            f"The signature {signature.name} has the inputs {expected}. "
            f"Received: {sorted(inputs)}."
        )
    arrays = {
        name: as_tensor(name, inputs[name], info.dtype)
        for name, info in signature.inputs.items()
    }
    lengths = {name: len(a) for name, a in arrays.items() if a.ndim}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"All inputs must have the same length. Received: {lengths}."
        )
    return arrays


def as_tensor(name, values, dtype):
    """Makes an array of the type that an input has.

    Args:
        name: string, for the error text.
        values: nested lists or an array; `str` or `bytes` for strings.
        dtype: string, such as `"DT_STRING"`.

    Returns:
        NumPy array; `bytes` in an array of objects for strings.

    Raises:
        ValueError: if the values do not fit, or are lists of unequal length.
    """
    if dtype not in BY_NAME:
        raise ValueError(f"The input {name} has a type that cannot be sent.")
    target = np.dtype(BY_NAME[dtype].numpy)
    if target.hasobject:
        return _strings(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"The input {name} needs rows of one length: {error}"
        ) from None
    if array.size == 0 and array.dtype == np.float64:
        array = array.astype(target)  # NumPy's type for no values
    both_whole = array.dtype.kind in "iu" and target.kind in "iu"
    if not both_whole and not np.can_cast(array.dtype, target, "same_kind"):
        raise ValueError(
            f"The input {name} takes {target.name}. Received: {array.dtype}."
        )
    with np.errstate(over="ignore"):
        cast = array.astype(target)
    if target.kind in "iu" and not np.array_equal(cast, array):
        raise ValueError(
            f"The input {name} takes {target.name}, which is too small for "
            f"{array.max()}."
        )
    return cast


def _strings(name, values):
    if isinstance(values, (str, bytes)):
        raise ValueError(
            f"The input {name} takes a list of strings. Received one string: "
            f"{values!r:.50}. Pass [{values!r:.20}]."
        )
    array = np.array(values, object)
    flat = array.reshape(-1)
    for i, value in enumerate(flat):
        if isinstance(value, str):
            flat[i] = value.encode("utf-8", "surrogateescape")
        elif not isinstance(value, bytes):
            raise ValueError(
                f"The input {name} takes strings. Received: {value!r:.50} of "
                f"type {type(value).__name__} at place {i}."
            )
    return flat.reshape(array.shape)


def to_json(array):
    """Writes an array as values for JSON; bytes that are no UTF-8 as base64."""
    if array.dtype != object:
        return array.tolist()
    flat = [_json_string(value) for value in array.reshape(-1)]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(array.shape).tolist()


def _json_string(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def from_json(name, value, dtype):
    """Reads an output from JSON.

    Args:
        name: string. Outputs that end in `_bytes` are `bytes`, others `str`.
        value: nested lists.
        dtype: string, such as `"DT_FLOAT"`.

    Returns:
        NumPy array; strings in an array of objects.
    """
    target = np.dtype(BY_NAME[dtype].numpy) if dtype in BY_NAME else None
    if target is None or not target.hasobject:
        return np.array(value, target)
    if name.endswith("_bytes"):
        value = _decoded(value)
    return np.array(value, object)


def _decoded(value):
    if isinstance(value, list):
        return [_decoded(element) for element in value]
    return base64.b64decode(value["b64"])


def from_tensor(name, array):
    """Turns an output that came as a tensor into what `from_json` gives."""
    if array.dtype != object or name.endswith("_bytes"):
        return array
    flat = [value.decode("utf-8", "replace") for value in array.reshape(-1)]
    return np.array(flat, object).reshape(array.shape)


def slices(arrays, size):
    """Cuts inputs into parts of at most `size` rows.

    Args:
        arrays: dict from input name to NumPy array.
        size: int.

    Returns:
        List of such dicts; at least one. Inputs without rows are not cut.
    """
    if any(array.ndim == 0 for array in arrays.values()):
        return [arrays]
    length = len(next(iter(arrays.values()))) if arrays else 0
    return [
        {name: array[start : start + size] for name, array in arrays.items()}
        for start in range(0, max(length, 1), size)
    ]
