"""`classify` and `regress` over REST: JSON examples in, results out."""

from keras_albert.serving.protocol.message_schema import messages
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server.calls import with_context
from keras_albert.serving.server.rest.json_replies import decimal_texts
from keras_albert.serving.server.rest.json_replies import string_text
from keras_albert.serving.server.rest.json_replies import to_body
from keras_albert.serving.server.rest.json_tensors import decode_base64
from keras_albert.serving.server.rest.json_tensors import is_base64
from keras_albert.serving.server.rest.json_tensors import json_type
from keras_albert.serving.server.rest.json_tensors import quoted
from keras_albert.serving.server.rest.json_tensors import to_bytes

_INT64 = range(-(2**63), 2**63)


def serialized_examples(request):
    """Reads the examples of a classify or regress request.

    Args:
        request: dict, as from `parse_json`.

    Returns:
        List of bytes: a serialized `tf.Example` each, which holds the
        features of the request's `context`, too.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    context = None
    if "context" in request:
        context = example_from_json(request["context"])
    if "examples" not in request:
        raise invalid(
            f"JSON Value: {quoted(request)} When method is classify, key "
            "'examples' is expected and was not found"
        )
    examples = request["examples"]
    if not isinstance(examples, list):
        raise invalid(
            f"JSON Value: {quoted(request)} Expecting 'examples' value to be "
            "an list/array"
        )
    if not examples:
        raise invalid(
            f"JSON Value: {quoted(request)} 'examples' value is an empty array"
        )
    return with_context(map(example_from_json, examples), context)


def example_from_json(value):
    """Makes an `Example` message of a JSON object.

    Args:
        value: dict from feature name to an element or a list of such.
            Strings and base64 become bytes, integers and booleans int64, and
            numbers with a point or an exponent float.

    Returns:
        `Example` message.

    Raises:
        ServingError: INVALID_ARGUMENT for anything else, or for two kinds in
            one feature.
    """
    if not isinstance(value, dict):
        raise invalid(
            f"Example must be JSON object but got JSON {json_type(value)}"
        )
    example = messages()["Example"]()
    for name, content in value.items():
        feature = example.features.feature[_utf8(name)]
        elements = content if isinstance(content, list) else [content]
        for element in elements:
            kind, converted = _element(name, element)
            if feature.WhichOneof("kind") not in (None, kind):
                raise invalid(
                    f"Unexpected element type in feature: {name} expecting "
                    f"type: {feature.WhichOneof('kind').split('_')[0]}"
                )
            getattr(feature, kind).value.append(converted)
    return example


def _utf8(name):
    """A feature's name; protocol buffers take no other bytes."""
    return to_bytes(name).decode("utf-8", "replace")


def _element(name, value):
    if isinstance(value, str):
        return "bytes_list", to_bytes(value)
    if is_base64(value):
        return "bytes_list", decode_base64(value)
    if isinstance(value, bool):
        return "int64_list", int(value)
    if isinstance(value, int):
        if value not in _INT64:
            raise invalid(
                f"Feature: {name} has uint64 element. Only int64 is supported."
            )
        return "int64_list", value
    if isinstance(value, float):
        return "float_list", value
    raise invalid(
        f"Feature: {name} has element with unexpected JSON type: "
        f"{json_type(value)}"
    )


def classify_reply(rows):
    """Writes the answer to a classify request.

    Args:
        rows: list with, for each example, a list of `(label, score)`: bytes
            and float32.

    Returns:
        Bytes.
    """
    texts = []
    for row in rows:
        pairs = (
            f"[{string_text(label)}, {decimal_texts(score.reshape(1))[0]}]"
            for label, score in row
        )
        texts.append(f"[{', '.join(pairs)}]")
    return to_body(f'{{"results": [{", ".join(texts)}]}}')


def regress_reply(values):
    """Writes the answer to a regress request.

    Args:
        values: float32 array of shape `(num_examples,)`.

    Returns:
        Bytes.
    """
    return to_body(f'{{"results": [{", ".join(decimal_texts(values))}]}}')
