"""Files are read one array at a time, and damaged ones refused."""

import json
import struct

import ml_dtypes
import numpy as np
import pytest

from keras_albert.conversion import weight_files
from keras_albert.conversion.weight_files import ArraysInMemory
from keras_albert.conversion.weight_files import RenamedFile
from keras_albert.conversion.weight_files import SafetensorsFile
from keras_albert.conversion.weight_files import TorchFile
from keras_albert.conversion.weight_files import open_safetensors
from keras_albert.conversion.weight_files import write_safetensors

library = pytest.importorskip("safetensors.numpy", reason="the other side")

ARRAYS = {
    "a": np.arange(6, dtype="float32").reshape(2, 3),
    "half": np.array([1.5, -2.0], "float16"),
    "steps": np.array(7, "int64"),
    "none": np.zeros((0, 4), "float32"),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.safetensors"
    library.save_file(ARRAYS, path)
    return path


def test_reads_what_the_library_writes(file):
    ours = SafetensorsFile(file)

    assert ours.shapes == {n: a.shape for n, a in ARRAYS.items()}
    for name, array in ARRAYS.items():
        read = ours.read(name)
        assert read.dtype == array.dtype
        np.testing.assert_array_equal(read, array)


def test_reads_bfloat16(tmp_path):
    torch = pytest.importorskip("torch", reason="writes bfloat16")
    from safetensors.torch import save_file

    values = torch.tensor([1.5, -3.25, 1e30])
    save_file({"w": values.bfloat16()}, tmp_path / "m.safetensors")

    read = SafetensorsFile(tmp_path / "m.safetensors").read("w")

    assert read.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(
        read.astype("float32"), values.bfloat16().float().numpy()
    )


def test_the_library_reads_what_we_write(tmp_path):
    path = tmp_path / "model.safetensors"
    arrays = {n: a for n, a in ARRAYS.items() if a.dtype == "float32"}

    write_safetensors(
        path, {n: a.shape for n, a in arrays.items()}, arrays.__getitem__
    )

    read = library.load_file(path)
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


@pytest.mark.parametrize("block_bytes", [1, 8, 2**24])
def test_arrays_are_written_as_blocks_however_they_lie(
    tmp_path, monkeypatch, block_bytes
):
    monkeypatch.setattr(weight_files, "BLOCK_BYTES", block_bytes)
    values = np.arange(15, dtype="float32").reshape(5, 3)
    arrays = {
        "transposed": values.T,
        "every second": values[::2],
        "double": values.astype("float64"),
        "number": np.array(3, "float32"),
        "none": np.zeros((0, 4), "float32"),
        "empty rows": np.zeros((4, 0), "float32"),
    }
    path = tmp_path / "model.safetensors"

    write_safetensors(
        path, {n: a.shape for n, a in arrays.items()}, arrays.__getitem__
    )

    read = library.load_file(path)
    for name, array in arrays.items():
        assert read[name].shape == array.shape
        np.testing.assert_array_equal(read[name], array)


def test_a_wrong_shape_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"w has the shape \(2,\)"):
        write_safetensors(tmp_path / "m", {"w": (3,)}, lambda name: np.ones(2))


def test_a_file_cut_anywhere_is_refused(file):
    content = file.read_bytes()
    for length in (0, 5, 8, 40, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged or cut off"):
            SafetensorsFile(file)


@pytest.mark.parametrize(
    "header",
    [
        {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 99]}},
        {"w": {"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]}},
        {"w": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}},
        {"w": {"dtype": "OBJ", "shape": [2], "data_offsets": [0, 8]}},
        {"w": {"dtype": "F32"}},
        {"w": 3},
        [],
    ],
)
def test_a_header_that_lies_is_refused(file, header):
    content = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(content)) + content + bytes(8))

    with pytest.raises(ValueError, match="damaged or cut off"):
        SafetensorsFile(file)


def test_a_made_up_length_is_not_allocated(file):
    file.write_bytes(struct.pack("<Q", 2**62) + b"{}")

    with pytest.raises(ValueError, match="longer than the file"):
        SafetensorsFile(file)


def test_a_model_in_several_files(tmp_path):
    for part, names in (("1", ["a"]), ("2", ["half", "steps"])):
        library.save_file(
            {n: ARRAYS[n] for n in names}, tmp_path / f"part{part}.safetensors"
        )
    index = tmp_path / "model.safetensors.index.json"
    weight_map = {
        "a": "part1.safetensors",
        "half": "part2.safetensors",
        "steps": "part2.safetensors",
    }
    index.write_text(json.dumps({"weight_map": weight_map}))

    ours = open_safetensors(index)

    assert set(ours.shapes) == set(weight_map)
    np.testing.assert_array_equal(ours.read("half"), ARRAYS["half"])


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/b"])
def test_an_index_may_not_point_elsewhere(tmp_path, name):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": name}}))

    with pytest.raises(ValueError, match="outside its folder"):
        open_safetensors(index)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"weight_map": [1]}', '{"weight_map": {"a": 5}}'],
)
def test_a_damaged_index_is_refused(tmp_path, content):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(content)

    with pytest.raises(ValueError, match="damaged or cut off"):
        open_safetensors(path)


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, {1: "a"}])
def test_a_torch_file_without_tensors_is_refused(tmp_path, content):
    torch = pytest.importorskip("torch", reason="writes the file")
    torch.save(content, tmp_path / "pytorch_model.bin")

    with pytest.raises(ValueError, match="not a file of tensors alone"):
        TorchFile(tmp_path / "pytorch_model.bin")


def test_other_names_for_some_weights():
    file = RenamedFile(ArraysInMemory(ARRAYS), {"b": "a"})

    assert set(file.shapes) == {"b", "half", "steps", "none"}
    np.testing.assert_array_equal(file.read("b"), ARRAYS["a"])
    np.testing.assert_array_equal(file.read("half"), ARRAYS["half"])
    assert (file.spelled("b"), file.spelled("half")) == ("a", "half")
