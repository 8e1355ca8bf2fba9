"""TFRecord files of `tf.train.Example`, written without TensorFlow.

A worker process that imports TensorFlow takes seconds to start and hundreds
of megabytes, and its protocol buffers cost more time than all the rest. The
two formats are small:

    file      length (uint64) | crc of it | example | crc of it   per record
    example   field 1, features: one map entry per feature, sorted by name
    entry     field 1, name | field 2, feature
    feature   field 1, bytes list | field 3, int64 list, packed varints

Integers of a whole shard are turned into varints at once.

References:
    [TFRecord](https://www.tensorflow.org/tutorials/load_data/tfrecord),
    [protocol buffers](https://protobuf.dev/programming-guides/encoding/).
"""

import struct
from collections.abc import Iterator

import google_crc32c
import numpy as np

_CRC_DELTA = 0xA282EAD8
_MAX_VARINT_BYTES = 10
# Tags of length-delimited fields: number << 3 | 2.
_FIELD_1, _FIELD_2, _FIELD_3 = b"\x0a", b"\x12", b"\x1a"


def frame_record(data: bytes) -> bytes:
    """Puts length and checksums around the bytes of one record.

    Args:
        data: bytes.

    Returns:
        The bytes that stand for the record in a TFRecord file.
    """
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, _masked_crc(length), data, _masked_crc(data)),
    )


def _masked_crc(data):
    crc = google_crc32c.value(data)
    masked = ((crc >> 15 | crc << 17) + _CRC_DELTA) & 0xFFFFFFFF
    return struct.pack("<I", masked)


def encode_varints(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Writes integers as varints: seven bits a byte, the lowest first.

    Args:
        values: int64 array of shape `(n,)`. Negative ones take ten bytes.

    Returns:
        uint8 array of shape `(num_bytes,)`, all varints one after the other,
        and int64 array of shape `(n + 1,)`, where each of them begins.
    """
    values = np.asarray(values, "int64").view("uint64")
    num_bytes = np.ones(len(values), "int64")
    largest = int(values.max(initial=0))
    for place in range(1, _MAX_VARINT_BYTES):
        if largest >> (7 * place) == 0:
            break
        num_bytes += values >= np.uint64(1 << (7 * place))
    offsets = np.zeros(len(values) + 1, "int64")
    np.cumsum(num_bytes, out=offsets[1:])
    encoded = np.empty(offsets[-1], "uint8")
    starts = offsets[:-1]
    for place in range(int(num_bytes.max(initial=0))):
        if place:
            going_on = num_bytes > place
            values, starts = values[going_on], starts[going_on]
            num_bytes = num_bytes[going_on]
        byte = (values >> np.uint64(7 * place)) & np.uint64(127)
        more = (num_bytes > place + 1).astype("uint8") << 7
        encoded[starts + place] = byte.astype("uint8") | more
    return encoded, offsets


def varint(value: int) -> bytes:
    """Writes one number, such as a length, as a varint.

    Args:
        value: int, not negative.

    Returns:
        bytes.
    """
    if value < 128:
        return bytes((value,))
    if value < 16384:
        return bytes((value & 127 | 128, value >> 7))
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def int64_lists(values: np.ndarray, offsets: np.ndarray) -> Iterator[bytes]:
    """Encodes consecutive slices of an array as features of integers.

    Args:
        values: integer array of shape `(n,)`.
        offsets: int64 array of shape `(num_features + 1,)`. Feature `i` holds
            `values[offsets[i]:offsets[i + 1]]`.

    Returns:
        An iterator of the bytes of each `tf.train.Feature`.
    """
    encoded, places = encode_varints(values)
    encoded = encoded.tobytes()
    borders = places[offsets].tolist()
    for start, stop in zip(borders, borders[1:], strict=False):
        packed = _field(_FIELD_1, encoded[start:stop]) if stop > start else b""
        yield _field(_FIELD_3, packed)


def bytes_list(value: bytes) -> bytes:
    """Encodes one value as a feature of bytes.

    Args:
        value: bytes.

    Returns:
        The bytes of a `tf.train.Feature`.
    """
    return _field(_FIELD_1, _field(_FIELD_1, value))


def example(features: dict[str, bytes]) -> bytes:
    """Puts features together, as TensorFlow does when told to be deterministic.

    Args:
        features: dict from name to the bytes of a `tf.train.Feature`.

    Returns:
        The bytes of a `tf.train.Example`.
    """
    entries = [
        _field(
            _FIELD_1,
            _field(_FIELD_1, name.encode()) + _field(_FIELD_2, features[name]),
        )
        for name in sorted(features)
    ]
    return _field(_FIELD_1, b"".join(entries))


def _field(tag, content):
    return tag + varint(len(content)) + content
