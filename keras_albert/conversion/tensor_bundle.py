"""Where the arrays of a TensorFlow checkpoint lie in its files.

TensorFlow reads a whole array into memory of its own and keeps that memory
for the rest of the process. An array that lies in one piece in a data file is
mapped instead: its pages are the file's. The `.index` says where it lies:

    index    blocks | handle of one block | handle of the list of blocks | ...
             and 8 magic bytes; the handles begin 48 bytes before the end
    block    entries | places of some of them | their number (uint32 each)
             then a byte, 0 if nothing is compressed, and a checksum
    entry    shared, new, length (varints) | rest of the key | value
             a key begins with the first `shared` bytes of the one before it
    value    in the list, the handle of a block; in a block, of the key "",
             `BundleHeaderProto`, of a name, `BundleEntryProto`

A handle is an offset and a size, both varints.

References:
    [Tables](https://github.com/google/leveldb/blob/main/doc/table_format.md).
"""

import struct
from pathlib import Path

import google_crc32c
import numpy as np

from keras_albert.conversion.variable_memory import forget_pages

END_BYTES = 48
MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
CRC_DELTA = 0xA282EAD8
# What is looked through at a time for a checksum.
CHUNK_BYTES = 2**20


class TensorBundle:
    """The arrays of a checkpoint that can be mapped."""

    def __init__(self, prefix):
        """Reads the index of a checkpoint that TensorFlow has opened.

        Args:
            prefix: path of the checkpoint without `.index`.
        """
        self._prefix = str(prefix)
        index = Path(f"{prefix}.index")
        content = index.read_bytes() if index.is_file() else b""
        self._num_shards, self._entries = _header_and_entries(content)
        self._checked = set()

    def mapped(self, name):
        """Returns an array as a map of its file, its checksum compared.

        Args:
            name: string.

        Returns:
            NumPy array, only to be read; or `None` where it cannot be mapped
            or is damaged: TensorFlow reads it then, or says what is wrong.
        """
        entry = self._entries.get(name)
        dtype = None if entry is None else _dtype_of(entry)
        if dtype is None:
            return None
        shard = f"{entry.shard_id:05d}-of-{self._num_shards:05d}"
        try:
            content = np.memmap(
                f"{self._prefix}.data-{shard}",
                "uint8",
                mode="r",
                offset=entry.offset,
                shape=(entry.size,),
            )
        except (OSError, OverflowError, ValueError):  # missing, or cut off
            return None
        if name not in self._checked:
            if masked_crc(content) != entry.crc32c:
                return None
            self._checked.add(name)
        return content.view(dtype).reshape(_shape_of(entry))


def masked_crc(content):
    """Returns the checksum that a bundle has of a uint8 array, an int."""
    crc = 0
    for start in range(0, len(content), CHUNK_BYTES):
        chunk = content[start : start + CHUNK_BYTES].tobytes()
        crc = google_crc32c.extend(crc, chunk)
        forget_pages(content)
    return ((crc >> 15 | crc << 17) + CRC_DELTA) & 0xFFFFFFFF


def _header_and_entries(index):
    """The number of data files and the entries by name."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import tensor_bundle_pb2 as pb2

    if not index.endswith(MAGIC):
        return 0, {}
    try:
        values = _values(index)
        header = pb2.BundleHeaderProto.FromString(values.pop(b"", b""))
        if header.endianness != pb2.BundleHeaderProto.LITTLE:
            return 0, {}
        return header.num_shards, {
            key.decode(errors="replace"): pb2.BundleEntryProto.FromString(value)
            for key, value in values.items()
        }
    except (DecodeError, IndexError, struct.error):
        return 0, {}


def _values(index):
    _, place = _handle(index, len(index) - END_BYTES)
    blocks, _ = _handle(index, place)
    values = {}
    for _, handle in _block(index, *blocks):
        values.update(_block(index, *_handle(handle, 0)[0]))
    return values


def _block(index, offset, size):
    """Yields the keys and values of a block."""
    if index[offset + size]:
        return  # compressed
    (places,) = struct.unpack_from("<I", index, offset + size - 4)
    end = offset + size - 4 * (places + 1)
    key = b""
    while offset < end:
        shared, offset = _varint(index, offset)
        new, offset = _varint(index, offset)
        length, offset = _varint(index, offset)
        key = key[:shared] + index[offset : offset + new]
        offset += new
        yield key, index[offset : offset + length]
        offset += length


def _handle(content, place):
    """Returns `((offset, size), the place after them)`."""
    offset, place = _varint(content, place)
    size, place = _varint(content, place)
    return (offset, size), place


def _varint(content, place):
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def _shape_of(entry):
    return tuple(axis.size for axis in entry.shape.dim)


def _dtype_of(entry):
    """The type of an array of numbers that lies in one piece, or `None`."""
    import tensorflow as tf

    dtype = np.dtype(tf.as_dtype(entry.dtype).as_numpy_dtype)
    size = dtype.itemsize * int(np.prod(_shape_of(entry), dtype="int64"))
    if entry.slices or dtype.hasobject or size != entry.size:
        return None
    return dtype
