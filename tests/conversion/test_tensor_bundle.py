"""Arrays are found in a checkpoint's files where TensorFlow finds them."""

import mmap
import struct

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensor_bundle_pb2 as pb2

from keras_albert.conversion import google_writing
from keras_albert.conversion import tensor_bundle
from keras_albert.conversion.google_writing import write_checkpoint
from keras_albert.conversion.tensor_bundle import MAGIC
from keras_albert.conversion.tensor_bundle import TensorBundle
from keras_albert.conversion.weight_files import TensorFlowCheckpoint

ARRAYS = {
    "a/kernel": np.arange(6, dtype="float32").reshape(2, 3),
    "a/kernel/adam_m": np.full((2, 3), 0.5, "float64"),
    "half": np.array([1.5, -2.0], "float16"),
    "brain": tf.constant([1.5, -3.25, 1e30], "bfloat16").numpy(),
    "global_step": np.array(7, "int64"),
    "yes": np.array([True, False]),
}


def save(prefix, arrays):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )
    return prefix


@pytest.fixture
def prefix(tmp_path):
    return save(tmp_path / "model.ckpt", ARRAYS)


def data_of(prefix):
    return prefix.with_name(f"{prefix.name}.data-00000-of-00001")


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def assert_all_mapped(prefix, arrays):
    bundle = TensorBundle(prefix)
    for name, array in arrays.items():
        found = bundle.mapped(name)
        assert is_mapped(found)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
        assert not found.flags.writeable


def test_arrays_of_every_type_are_mapped(prefix, monkeypatch):
    assert_all_mapped(prefix, ARRAYS)
    monkeypatch.setattr(tensor_bundle, "CHUNK_BYTES", 7)
    assert_all_mapped(prefix, ARRAYS)
    assert TensorBundle(prefix).mapped("other") is None


def test_an_index_of_several_blocks(tmp_path):
    arrays = {
        f"bert/{'long' * 20}/{i}": np.full(i % 3 + 1, i, "float32")
        for i in range(4000)
    }
    prefix = save(tmp_path / "many", arrays)
    assert prefix.with_name("many.index").stat().st_size > 2**16
    assert_all_mapped(prefix, arrays)


def test_a_checkpoint_in_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr(google_writing, "PART_BYTES", 8)
    arrays = {f"w{i}": np.full((3, i), i, "float32") for i in range(1, 9)}
    write_checkpoint(
        tmp_path / "m", [(n, a.shape, a.copy) for n, a in arrays.items()]
    )
    assert len(list(tmp_path.glob("m.data-*-of-00008"))) == 8
    assert_all_mapped(tmp_path / "m", arrays)


def test_what_does_not_lie_in_one_piece_is_read_by_tensorflow(tmp_path):
    rows = [np.ones((2, 3), "float32"), np.zeros((1, 3), "float32")]
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "m"),
        tensor_names=["parts", "parts", "text", "none"],
        shape_and_slices=["3 3 0,2:-", "3 3 2,1:-", "", ""],
        tensors=[*rows, tf.constant("words"), tf.zeros((0, 4))],
    )
    bundle = TensorBundle(tmp_path / "m")
    assert bundle.mapped("parts") is None
    assert bundle.mapped("text") is None
    read = TensorFlowCheckpoint(tmp_path / "m").read
    np.testing.assert_array_equal(read("parts"), np.concatenate(rows))
    assert read("text") == b"words"
    assert read("none").shape == (0, 4)


def test_a_checkpoint_is_read_from_the_map(prefix):
    assert is_mapped(TensorFlowCheckpoint(prefix).read("half"))


@pytest.mark.parametrize("damage", ["changed", "cut off", "missing"])
def test_damage_is_not_mapped_and_named(prefix, damage):
    content = bytearray(data_of(prefix).read_bytes())
    content[-1] ^= 1
    data_of(prefix).write_bytes(
        content if damage == "changed" else content[:-1]
    )
    if damage == "missing":
        data_of(prefix).unlink()
    last = max(ARRAYS)

    assert TensorBundle(prefix).mapped(last) is None
    with pytest.raises(ValueError, match="damaged or cut off.*TensorFlow say"):
        TensorFlowCheckpoint(prefix).read(last)


def test_an_index_with_any_byte_changed_gives_no_other_values(prefix):
    index = prefix.with_name(f"{prefix.name}.index")
    content = index.read_bytes()
    opened, errors = 0, []
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x55
        index.write_bytes(changed)
        try:
            file = TensorFlowCheckpoint(prefix)
            opened += 1
            for name, array in ARRAYS.items():
                np.testing.assert_array_equal(file.read(name), array)
        except ValueError as error:
            errors.append(str(error))
    assert all("damaged or cut off" in error for error in errors)
    assert opened < len(content) / 5


def varint(value):
    assert value < 2**14
    return bytes([value & 127 | 128, value >> 7])


def block(entries, compressed=False):
    content = b"".join(
        b"\0" + varint(len(key)) + varint(len(value)) + key + value
        for key, value in entries.items()
    )
    return content + struct.pack("<II", 0, 1), bytes([compressed, 0, 0, 0, 0])


def index_of(header, entry, compressed=False, magic=MAGIC):
    values = {b"": header.SerializeToString(), b"w": entry.SerializeToString()}
    content, end = block(values, compressed)
    handle = varint(0) + varint(len(content))
    listed, listed_end = block({b"w": handle})
    second = varint(len(content + end)) + varint(len(listed))
    tail = (handle + second).ljust(40, b"\0") + magic
    return content + end + listed + listed_end + tail


@pytest.mark.parametrize(
    ("change", "mapped"),
    [
        ({}, True),
        ({"compressed": True}, False),
        ({"magic": bytes(8)}, False),
        ({"endianness": pb2.BundleHeaderProto.BIG}, False),
        ({"size": 4}, False),
        ({"offset": -8}, False),
        ({"offset": 2**62}, False),
    ],
)
def test_an_index_by_the_format(tmp_path, change, mapped):
    values = np.arange(2, dtype="float32")
    (tmp_path / "m.data-00001-of-00003").write_bytes(values.tobytes())
    shape = tf.TensorShape([2]).as_proto()
    crc = tensor_bundle.masked_crc(values.view("uint8"))
    change = dict(change)
    header = pb2.BundleHeaderProto(
        num_shards=3, endianness=change.pop("endianness", 0)
    )
    entry = pb2.BundleEntryProto(
        dtype=tf.float32.as_datatype_enum,
        shape=shape,
        shard_id=1,
        offset=change.pop("offset", 0),
        size=change.pop("size", 8),
        crc32c=crc,
    )
    (tmp_path / "m.index").write_bytes(index_of(header, entry, **change))

    found = TensorBundle(tmp_path / "m").mapped("w")

    assert (found is not None) == mapped
    if mapped:
        np.testing.assert_array_equal(found, values)


def test_a_checksum_by_the_format():
    # CRC-32C of "123456789" is 0xE3069283 in the standard.
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32
    digits = np.frombuffer(b"123456789", "uint8")
    assert tensor_bundle.masked_crc(digits) == masked


def test_a_name_without_an_index(tmp_path):
    assert TensorBundle(tmp_path / "nothing").mapped("w") is None
