"""The values of variables, without a second copy of a large model in memory.

Keras hands a variable's value on as a copy, and takes a new one by way of one
or two copies more. For the largest kernel of an ALBERT that is a third of the
whole model each. Here values are looked at where they lie, and filled in a
block of rows at a time.
"""

import contextlib
import mmap

import h5py
import keras
import numpy as np
from keras import ops
from keras.src.saving.saving_lib import H5IOStore

# What is copied at a time. Smaller variables go Keras's way.
BLOCK_BYTES = 2**24
ALIGNMENT = 64


class Unfilled(keras.initializers.Initializer):
    """Zeros that take no memory until they are written to.

    The operating system gives pages of zeros their place when they are first
    written to. Two models of which one is filled from the other, and the other
    released meanwhile, take the memory of one.
    """

    def __call__(self, shape, dtype=None):
        """Returns a tensor of zeros."""
        dtype = keras.backend.standardize_dtype(dtype)
        if dtype != "float32" or 0 in shape:
            return ops.zeros(shape, dtype)
        return _as_tensor(_aligned_zeros(shape))


def value_of(variable):
    """Returns a variable's value, in the variable's own memory where possible.

    Args:
        variable: Keras variable.

    Returns:
        NumPy array, only to be read, and before the variable changes.
    """
    memory = _memory_of(variable)
    if memory is None:
        return ops.convert_to_numpy(variable.value)
    return memory


def fill(variable, array):
    """Sets a variable as `assign` does, with a block in memory at a time.

    Args:
        variable: Keras variable.
        array: NumPy array of the variable's shape. If it is a view of a
            mapped file, its pages are dropped as they are used.

    Raises:
        ValueError: if the shape is another.
    """
    if array.nbytes <= BLOCK_BYTES or array.shape != tuple(variable.shape):
        variable.assign(array)
        return
    memory = None
    if keras.backend.backend() != "jax":
        memory = _memory_of(variable)
    if memory is not None and memory.flags.writeable:
        _copy_blocks(memory, array)
        return
    if keras.backend.backend() == "jax":
        # Its arrays are replaced; the new one takes aligned memory over.
        variable.value.delete()
    copy = _aligned_zeros(array.shape)
    _copy_blocks(copy, array)
    variable.assign(_as_tensor(copy))


def hand_over(variable, target):
    """Sets a variable of as many elements to the value of another.

    With JAX, whose arrays never change, both have the same memory then.

    Args:
        variable: Keras variable. The one with the value.
        target: Keras variable. The one that is set.
    """
    if keras.backend.backend() == "jax":
        target.assign(ops.reshape(variable.value, target.shape))
        return
    fill(target, np.reshape(value_of(variable), target.shape))


def release(variable):
    """Gives a variable's memory back; its value is lost."""
    if keras.backend.backend() == "torch":
        import torch

        variable.value.data = torch.empty(0)
    else:
        variable._value = None


@contextlib.contextmanager
def streamed(model):
    """Within the block, a model's weights are saved and loaded without copies.

    What Keras would write is written, and as Keras writes it.

    Args:
        model: Keras model.
    """
    layers = [layer for layer in model._flatten_layers() if _is_plain(layer)]
    for layer in layers:
        layer.save_own_variables = _saver(layer)
        layer.load_own_variables = _loader(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.save_own_variables, layer.load_own_variables


def _is_plain(layer):
    """Whether a layer stores its weights one by one, in their order."""
    kinds = (
        keras.layers.Dense,
        keras.layers.EinsumDense,
        keras.layers.Embedding,
    )
    return (
        isinstance(layer, kinds)
        and not getattr(layer, "quantization_mode", None)
        and not getattr(layer, "lora_enabled", False)
    )


def _saver(layer):
    def save_own_variables(store):
        # The smallest first: it makes the group that holds them all.
        places = sorted(enumerate(layer.weights), key=_size)
        for place, variable in places:
            array = value_of(variable)
            group = getattr(store, "_h5_entry_group", None)
            if type(store) is H5IOStore and isinstance(group, h5py.Group):
                group.create_dataset(str(place), data=array)
            else:
                store[str(place)] = array

    return save_own_variables


def _size(numbered):
    return int(np.prod(numbered[1].shape))


def _loader(layer):
    original = layer.load_own_variables

    def load_own_variables(store):
        if len(store.keys()) != len(layer.weights):
            original(store)  # says what is wrong
            return
        for place, variable in enumerate(layer.weights):
            fill(variable, store[str(place)])

    return load_own_variables


def _memory_of(variable):
    """A variable's memory as an array, or `None` where it is out of reach."""
    if keras.backend.standardize_dtype(variable.dtype) != "float32":
        return None
    value, backend = variable.value, keras.backend.backend()
    if backend == "jax":
        return np.asarray(value)
    if backend == "torch":
        value = value.detach()
        return value.numpy() if value.device.type == "cpu" else None
    if backend != "tensorflow":
        return None
    tensor = value.read_value()
    if not tensor.device.endswith("CPU:0"):
        return None
    return tensor._numpy()


def _as_tensor(array):
    """A tensor of the backend in an array's own memory where possible."""
    backend = keras.backend.backend()
    if backend == "torch":
        import torch

        return torch.from_numpy(array)
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    if backend == "jax":
        import jax

        if jax.default_backend() == "cpu":
            return jax.dlpack.from_dlpack(array)
    return ops.convert_to_tensor(array)


def tensorflow_tensor(array):
    """A TensorFlow tensor of a float32 array, outside TensorFlow's allocator.

    What that has once taken it keeps for the rest of the process. The tensor
    has the array's own memory where that is aligned, so it is only to be read,
    and before the array changes.

    Args:
        array: NumPy array.
    """
    import tensorflow as tf

    if array.dtype != "float32" or not array.size:
        return tf.constant(array)
    aligned = array.ctypes.data % ALIGNMENT == 0
    if not (aligned and array.flags.c_contiguous):
        copy = _aligned_zeros(array.shape)
        _copy_blocks(copy, array)
        array = copy
    return tf.experimental.dlpack.from_dlpack(_shared(array).__dlpack__())


class _Memory:
    """An array's memory under NumPy's protocol, as if it could be written."""

    def __init__(self, array):
        self.array = array
        described = dict(array.__array_interface__)
        described["data"] = (described["data"][0], False)
        self.__array_interface__ = described


def _shared(array):
    # NumPy refuses to share an array that is only to be read, as JAX's are.
    return array if array.flags.writeable else np.asarray(_Memory(array))


def _copy_blocks(target, source):
    if source.flags.f_contiguous:
        # Along the file, of which ours may be the transposed.
        source, target = source.T, target.T
    if not source.ndim:
        target[()] = source
        return
    rows = max(1, BLOCK_BYTES // source[:1].nbytes)
    for start in range(0, len(source), rows):
        target[start : start + rows] = source[start : start + rows]
        forget_pages(source)


def forget_pages(array):
    """Drops the pages of a mapped file that have been read.

    Args:
        array: NumPy array, a view of the file or not.
    """
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    if array is not None and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def _aligned_zeros(shape):
    size = 4 * int(np.prod(shape))
    memory = np.zeros(size + ALIGNMENT, "uint8")
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view("float32").reshape(shape)
