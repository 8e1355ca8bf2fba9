"""Bodies of REST requests -> tensors or examples.

The JSON rules are TensorFlow Serving's: NaN and Infinity are numbers, what
follows the object is ignored, and of two equal keys the first counts.
"""

import dataclasses
import json
import math
import re

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server.rest.json_tensors import as_array
from keras_albert.serving.server.rest.json_tensors import dense_shape
from keras_albert.serving.server.rest.json_tensors import flatten
from keras_albert.serving.server.rest.json_tensors import is_base64
from keras_albert.serving.server.rest.json_tensors import quoted

WHITESPACE = " \t\r\n"
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class PredictInputs:
    """What a predict request asks.

    Attributes:
        signature_name: string; empty for the default.
        is_row: bool. Whether the answer goes back row by row.
        tensors: dict from input name to array.
    """

    signature_name: str
    is_row: bool
    tensors: dict


def parse_json(body):
    """Reads the JSON object at the head of a request's body.

    Args:
        body: bytes. Strings that are no UTF-8 keep their bytes.

    Returns:
        Dict.

    Raises:
        ServingError: INVALID_ARGUMENT if there is no JSON object.
    """
    try:
        text, is_utf8 = body.decode("utf-8"), True
    except UnicodeDecodeError:
        text, is_utf8 = body.decode("utf-8", "surrogateescape"), False
    text = text.removeprefix("\ufeff").lstrip(WHITESPACE)
    if not text:
        raise invalid("JSON Parse error: The document is empty")
    try:
        value, _ = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        # In bytes, and as far as the error is into what was sent.
        skipped = len(body) - len(text.encode("utf-8", "surrogateescape"))
        offset = skipped + len(text[: error.pos].encode("utf-8", "replace"))
        raise invalid(
            f"JSON Parse error: {error.msg} at offset: {offset}"
        ) from None
    except (RecursionError, ValueError, OverflowError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else error
        raise invalid(f"JSON Parse error: {reason}") from None
    if is_utf8 and "\\u" in text:
        _refuse_lone_surrogates(value)
    if not isinstance(value, dict):
        raise invalid(f"JSON Value: {quoted(value)} Is not object")
    return value


def _first_of_each(pairs):
    """Makes a dict in which the first of two equal keys counts."""
    return dict(reversed(pairs))


def _finite(text):
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number too big to be stored in double.")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_first_of_each, parse_float=_finite
)


def _refuse_lone_surrogates(value):
    r"""Half of a pair, such as "\ud800", stands for no character."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if _SURROGATES.search(value):
                raise invalid(
                    "JSON Parse error: The surrogate pair in string is invalid."
                )
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value)
            stack.extend(value.values())


def signature_name(request):
    """The name of the signature that a request asks for, or `""`."""
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {quoted(request)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return name


def predict_inputs(request, find_signature):
    """Reads the tensors of a predict request.

    Args:
        request: dict, as from `parse_json`.
        find_signature: function from a name, empty for the default, to the
            `Signature`.

    Returns:
        `PredictInputs`.

    Raises:
        ServingError: INVALID_ARGUMENT, or what `find_signature` raises.
    """
    name = signature_name(request)
    inputs = find_signature(name).inputs
    if not inputs:
        raise invalid(
            f"Failed to get input map for signature: {name or 'DEFAULT'}"
        )
    if "instances" in request and "inputs" in request:
        raise invalid(
            f"JSON Value: {quoted(request)} Not formatted correctly expecting "
            "only one of 'inputs' or 'instances' keys to exist "
        )
    if "instances" in request:
        tensors = _row_tensors(request["instances"], inputs, request)
        return PredictInputs(name, True, tensors)
    if "inputs" in request:
        tensors = _column_tensors(request["inputs"], inputs)
        return PredictInputs(name, False, tensors)
    raise invalid("Missing 'inputs' or 'instances' key")


def _column_tensors(value, inputs):
    if isinstance(value, dict) and not is_base64(value):
        for alias in inputs:
            if alias not in value:
                raise invalid(
                    f"Missing named input: {alias} in 'inputs' object."
                )
        values = {alias: value[alias] for alias in inputs}
    elif len(inputs) > 1:
        raise invalid(
            "inputs is a plain value/list, but expecting an object as multiple "
            "input tensors required as per tensorinfo_map"
        )
    else:
        values = {next(iter(inputs)): value}
    tensors = {}
    for alias, value in values.items():
        dtype = inputs[alias].dtype
        tensors[alias] = as_array(*flatten(value, dtype), dtype)
    return tensors


def _row_tensors(rows, inputs, request):
    if not isinstance(rows, list):
        raise invalid(
            f"JSON Value: {quoted(request)} Excepting 'instances' to be an "
            "list/array"
        )
    if not rows:
        raise invalid(
            f"JSON Value: {quoted(request)} No values in 'instances' array"
        )
    if len(inputs) > 1 and not isinstance(rows[0], dict):
        raise invalid(
            "instances is a plain list, but expecting list of objects as "
            "multiple input tensors required as per tensorinfo_map"
        )
    columns = {alias: _Column(info.dtype) for alias, info in inputs.items()}
    are_objects = _is_named(rows[0])
    for index, row in enumerate(rows):
        if _is_named(row) != are_objects:
            came, wanted = "list", "object"
            if not are_objects:
                came, wanted = "object", "value/list"
            raise invalid(
                f"Expecting {wanted} but got {came} at item {index} of input "
                "list"
            )
        named = row if are_objects else {next(iter(inputs)): row}
        _append_row(columns, named, index, are_objects)
    return {alias: column.array() for alias, column in columns.items()}


def _is_named(row):
    return isinstance(row, dict) and not is_base64(row)


def _append_row(columns, named, index, are_objects):
    for alias, value in named.items():
        try:
            if alias not in columns:
                raise invalid(
                    f"JSON object: does not have named input: {alias}"
                )
            columns[alias].append(value)
        except ServingError as error:
            if error.code != "INVALID_ARGUMENT":
                raise
            key = f" key: {alias}" if are_objects else ""
            raise invalid(
                f"Failed to process element: {index}{key} of 'instances' list. "
                f"Error: {error}"
            ) from None
    if named.keys() != columns.keys():
        raise invalid(
            f"Failed to process element: {index} of 'instances' list. JSON "
            f"object: {quoted(named)} keys must be equal to: "
            f"{','.join(sorted(columns))}"
        )


class _Column:
    """The rows of one input, all of one shape."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.flat = []
        self.shape = None
        self.num_rows = 0

    def append(self, value):
        if self.shape is None:
            self.shape = dense_shape(value)
        flat, shape = flatten(value, self.dtype)
        if self.num_rows and self.size != len(flat):
            raise invalid(
                f"Expecting tensor size: {self.size} but got: {len(flat)}"
            )
        if shape != self.shape:
            raise invalid(
                f"Expecting shape {_shape_text(self.shape)} but got: "
                f"{_shape_text(shape)}"
            )
        self.size = len(flat)
        self.flat.extend(flat)
        self.num_rows += 1

    def array(self):
        return as_array(self.flat, (self.num_rows, *self.shape), self.dtype)


def _shape_text(shape):
    return f"[{','.join(map(str, shape))}]"
