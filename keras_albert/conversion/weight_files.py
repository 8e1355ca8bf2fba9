"""Files of weights, read one array at a time.

Each class has `shapes`, a dict from name to shape, and `read(name)`. A model
of a gigabyte is converted with little more than a gigabyte of memory because
nothing here reads a whole file. Nothing is executed from one, either.
"""

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np

from keras_albert.conversion.tensor_bundle import TensorBundle

SAFETENSORS_TYPES = {
    "F64": np.dtype("float64"),
    "F32": np.dtype("float32"),
    "F16": np.dtype("float16"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("int64"),
    "I32": np.dtype("int32"),
    "I16": np.dtype("int16"),
    "I8": np.dtype("int8"),
    "U8": np.dtype("uint8"),
    "BOOL": np.dtype("bool"),
}
# More than any real header; a made-up length must not be allocated.
LONGEST_HEADER = 100_000_000
# What is written at a time.
BLOCK_BYTES = 2**22
# What TensorFlow's reader raises besides its own errors.
CHECKPOINT_ERRORS = (IndexError, RuntimeError, ValueError)


class WeightFile:
    """What all of them have: `shapes`, `read`, and how a name is spelled."""

    shapes: dict

    def read(self, name):
        """Returns the array of that name."""
        raise NotImplementedError

    def spelled(self, name):
        """Returns the name as the file itself has it."""
        return name

    def release(self, name):
        """Frees what an array takes in memory; it is not read again."""


class ArraysInMemory(WeightFile):
    """A weight file that is a dict from name to NumPy array."""

    def __init__(self, arrays):
        self._arrays = arrays
        self.shapes = {name: array.shape for name, array in arrays.items()}

    def read(self, name):
        """Returns the array of that name."""
        return self._arrays[name]


class SafetensorsFile(WeightFile):
    """A `.safetensors` file, its header checked before anything is read."""

    def __init__(self, path):
        self.path = Path(path)
        self._entries, self._start = _read_safetensors_header(self.path)
        self.shapes = {
            name: tuple(entry["shape"]) for name, entry in self._entries.items()
        }

    def read(self, name):
        """Returns the array of that name."""
        entry = self._entries[name]
        dtype = SAFETENSORS_TYPES[entry["dtype"]].newbyteorder("<")
        shape = tuple(entry["shape"])
        if 0 in shape:
            return np.zeros(shape, dtype)
        # Pages of the file, which need no memory of their own.
        return np.memmap(
            self.path,
            dtype,
            mode="r",
            offset=self._start + entry["data_offsets"][0],
            shape=shape,
        )


class FilesTogether(WeightFile):
    """Several weight files that hold one model, as large ones are cut."""

    def __init__(self, files):
        self._owner = {name: file for file in files for name in file.shapes}
        self.shapes = {n: file.shapes[n] for n, file in self._owner.items()}

    def read(self, name):
        """Returns the array of that name."""
        return self._owner[name].read(name)


class RenamedFile(WeightFile):
    """Another file, some of whose weights go by other names."""

    def __init__(self, file, names):
        """Wraps `file`; `names` is a dict from new name to the file's."""
        renamed = set(names.values())
        self._file = file
        self._names = names
        self.shapes = {
            **{n: s for n, s in file.shapes.items() if n not in renamed},
            **{new: file.shapes[old] for new, old in names.items()},
        }

    def read(self, name):
        """Returns the array of that name."""
        return self._file.read(self.spelled(name))

    def spelled(self, name):
        """Returns the name as the file itself has it."""
        return self._names.get(name, name)

    def release(self, name):
        """Frees what an array takes in memory; it is not read again."""
        self._file.release(self.spelled(name))


class TorchFile(WeightFile):
    """A `pytorch_model.bin`, read by PyTorch's tensors-only loader."""

    def __init__(self, path):
        try:
            import torch
        except ImportError:
            raise ImportError(
                f"{Path(path).name} needs PyTorch to be read: pip install "
                "torch. Or ask its authors for a .safetensors file."
            ) from None
        try:
            # Tensors alone: a pickle that would run code is refused.
            self._tensors = torch.load(
                path, map_location="cpu", weights_only=True, mmap=True
            )
        except Exception as error:  # many kinds, by what is broken
            first = str(error).strip().split("\n")[0][:200]
            raise ValueError(
                f"{path} is not a file of tensors alone, or is damaged, so it "
                f"was not opened. PyTorch says: {first}"
            ) from None
        if not isinstance(self._tensors, dict) or not all(
            isinstance(name, str) and isinstance(tensor, torch.Tensor)
            for name, tensor in self._tensors.items()
        ):
            raise ValueError(
                f"{path} is not a file of tensors alone: it holds no dict from "
                "names to tensors, as `torch.save(model.state_dict())` writes."
            )
        self.shapes = {n: tuple(t.shape) for n, t in self._tensors.items()}

    def read(self, name):
        """Returns the array of that name."""
        tensor = self._tensors[name]
        return (
            tensor.float() if not _numpy_has(tensor.dtype) else tensor
        ).numpy()


class TensorFlowCheckpoint(WeightFile):
    """A checkpoint of TensorFlow, of version 1 or 2, by its prefix."""

    def __init__(self, prefix):
        import tensorflow as tf

        self.prefix = str(prefix)
        try:
            self._reader = tf.train.load_checkpoint(self.prefix)
        except (tf.errors.OpError, *CHECKPOINT_ERRORS) as error:
            raise _damaged(self.prefix, error) from None
        self.shapes = {
            name: tuple(shape)
            for name, shape in self._reader.get_variable_to_shape_map().items()
        }
        self._bundle = TensorBundle(self.prefix)

    def read(self, name):
        """Returns the array of that name."""
        import tensorflow as tf

        mapped = self._bundle.mapped(name)
        if mapped is not None:
            return mapped
        try:
            return self._reader.get_tensor(name)
        except (tf.errors.OpError, *CHECKPOINT_ERRORS) as error:
            raise _damaged(self.prefix, error) from None


def open_safetensors(path):
    """Opens a file, or the index of several, as `FilesTogether`."""
    path = Path(path)
    if path.suffix != ".json":
        return SafetensorsFile(path)
    files = []
    for name in _files_in_index(path):
        if Path(name).name != name:
            raise ValueError(
                f"{path} points at {name!r}, outside its folder. Refused: "
                "the parts of a model lie beside their index."
            )
        files.append(SafetensorsFile(path.with_name(name)))
    return FilesTogether(files)


def _files_in_index(path):
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        names = set(index["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError):
        names = {None}
    if not all(isinstance(name, str) for name in names):
        raise _broken(path, "it names no file for each weight")
    return sorted(names)


def write_safetensors(path, shapes, read):
    """Writes float32 arrays to a `.safetensors` file, one at a time.

    Args:
        path: path of the new file.
        shapes: dict from name to shape.
        read: function from a name to its array.
    """
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = 4 * int(np.prod(shape))
        header[name] = {
            "dtype": "F32",
            "shape": list(shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(content)) + content)
        for name, shape in shapes.items():
            array = np.asarray(read(name))
            if array.shape != tuple(shape):
                raise ValueError(
                    f"{name} has the shape {array.shape}, not {tuple(shape)}."
                )
            _write_rows(file, array)


def _write_rows(file, array):
    """Writes an array a block of rows at a time, however it lies."""
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK_BYTES // (4 * max(1, rows[:1].size)))
    for start in range(0, len(rows), step):
        # Not named, so that it is gone when the next is made.
        file.write(np.ascontiguousarray(rows[start : start + step], "<f4").data)


def _read_safetensors_header(path):
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > min(LONGEST_HEADER, size - 8):
            raise _broken(path, "its header is longer than the file")
        content = file.read(length)
    try:
        entries = json.loads(content)
        entries.pop("__metadata__", None)
        for name, entry in entries.items():
            _check_entry(name, entry, path, size - 8 - length)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise _broken(path, "its header is not readable") from None
    return entries, 8 + length


def _check_entry(name, entry, path, available):
    first, last = entry["data_offsets"]
    if entry["dtype"] not in SAFETENSORS_TYPES:
        raise _broken(path, f"{name} is of unknown type {entry['dtype']!r}")
    size = SAFETENSORS_TYPES[entry["dtype"]].itemsize
    if last - first != size * int(np.prod(entry["shape"], dtype="int64")):
        raise _broken(path, f"the size of {name} does not fit its shape")
    if not 0 <= first <= last <= available:
        raise _broken(path, f"{name} lies beyond the end of the file")


def _broken(path, what):
    return ValueError(
        f"{path} is damaged or cut off: {what}. Fetch the file again."
    )


def _damaged(prefix, error):
    first = " ".join(str(error).split())[:200]
    return ValueError(
        f"The checkpoint {prefix} is damaged or cut off. Fetch it again; all "
        f"of its .data files must lie beside the .index. TensorFlow says: "
        f"{first}"
    )


def _numpy_has(dtype):
    return str(dtype) != "torch.bfloat16"
