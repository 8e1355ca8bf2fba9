"""Keeps the normalisation options inside a SentencePiece model file.

A model file is a protocol buffer, and readers skip fields that they do not
know. So the options a vocabulary was trained with travel in a field of their
own, and the file works in every other program as before.
"""

import json

# The schema leaves all fields from 200 on to others.
FIELD = 7130


def append_options(proto, options):
    """Adds options to the bytes of a SentencePiece model.

    Args:
        proto: bytes. The model.
        options: dict that JSON can hold.

    Returns:
        The bytes of the model with the options.
    """
    content = json.dumps(options, sort_keys=True).encode()
    tag = _varint(FIELD << 3 | 2)
    return proto + tag + _varint(len(content)) + content


def read_options(proto):
    """Returns the options in the bytes of a SentencePiece model, or `{}`."""
    options, position = {}, 0
    while position < len(proto):
        tag, position = _read_varint(proto, position)
        field, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            _, position = _read_varint(proto, position)
            continue
        length, position = (
            _read_varint(proto, position)
            if wire_type == 2
            else ({1: 8, 5: 4}[wire_type], position)
        )
        if field == FIELD:
            options = json.loads(proto[position : position + length])
        position += length
    return options


def _varint(value):
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _read_varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
