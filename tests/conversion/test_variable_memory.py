"""Values without copies: the same numbers, in a bounded amount of memory."""

import gc

import keras
import numpy as np
import pytest

from keras_albert.conversion import variable_memory
from keras_albert.conversion.variable_memory import Unfilled
from keras_albert.conversion.variable_memory import fill
from keras_albert.conversion.variable_memory import release
from keras_albert.conversion.variable_memory import streamed
from keras_albert.conversion.variable_memory import tensorflow_tensor
from keras_albert.conversion.variable_memory import value_of
from tests.checks import randomize
from tests.checks import to_numpy
from tests.models.tiny_models import tiny_pretrainer


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that even these variables have several."""
    monkeypatch.setattr(variable_memory, "BLOCK_BYTES", 64)


def is_released(variable):
    value = variable._value
    return value is None or 0 in tuple(value.shape)


def dense(initializer="zeros", dtype=None):
    layer = keras.layers.Dense(13, kernel_initializer=initializer, dtype=dtype)
    layer.build((None, 7))
    return layer


@pytest.mark.every_backend
@pytest.mark.parametrize("initializer", ["zeros", Unfilled()])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_variable_is_filled_in_blocks(small_blocks, initializer, dtype):
    layer = dense(initializer, dtype)
    values = np.arange(91, dtype="float32").reshape(7, 13)
    assert not to_numpy(layer.kernel.value).astype("float32").any()

    for array in (values, np.asfortranarray(values) + 1):
        fill(layer.kernel, array)
        found = value_of(layer.kernel).astype("float32")
        np.testing.assert_array_equal(found, array)
        kernel = to_numpy(layer.kernel.value).astype("float32")
        np.testing.assert_array_equal(kernel, array)
    layer.kernel.assign(np.ones((7, 13)))
    np.testing.assert_array_equal(to_numpy(layer(np.ones((1, 7)))), [[7] * 13])


@pytest.mark.every_backend
def test_a_mapped_file_is_read_from_and_never_written(small_blocks, tmp_path):
    values = np.random.default_rng(1).normal(size=(13, 7)).astype("float32")
    values.tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", "float32", "r", shape=(13, 7))
    layer = dense(Unfilled())

    fill(layer.kernel, mapped.T)
    np.testing.assert_array_equal(to_numpy(layer.kernel.value), values.T)
    fill(layer.kernel, np.zeros((7, 13), "float32"))

    np.testing.assert_array_equal(mapped, values)


@pytest.mark.every_backend
def test_another_shape_is_refused(small_blocks):
    with pytest.raises(ValueError, match="must match"):
        fill(dense().kernel, np.zeros((13, 7), "float32"))


@pytest.mark.every_backend
def test_files_are_keras_own(small_blocks, tmp_path):
    """What is saved here loads with Keras alone, and the other way round."""
    model = tiny_pretrainer(num_segments=2)
    randomize(model)
    expected = [np.copy(to_numpy(v.value)) for v in model.weights]
    here, theirs = tmp_path / "here.weights.h5", tmp_path / "a.weights.h5"
    model.save_weights(theirs)
    with streamed(model):
        model.save_weights(here)

    for path in (here, theirs):
        for around in (streamed, None):
            other = tiny_pretrainer(seed=5)
            if around is None:
                other.load_weights(path)
            else:
                with around(other):
                    other.load_weights(path)
            for value, variable in zip(expected, other.weights, strict=True):
                np.testing.assert_array_equal(to_numpy(variable.value), value)


def test_a_file_with_other_weights_is_refused(tmp_path):
    model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(13)])
    model.save_weights(tmp_path / "a.weights.h5")
    other = keras.Sequential(
        [keras.Input((7,)), keras.layers.Dense(13, use_bias=False)]
    )
    with pytest.raises(ValueError, match="variables"), streamed(other):
        other.load_weights(tmp_path / "a.weights.h5")


@pytest.mark.every_backend
def test_what_is_released_is_gone():
    layer = dense()
    release(layer.kernel)
    assert is_released(layer.kernel)


@pytest.mark.parametrize("is_writeable", [True, False])
def test_tensorflow_shares_the_memory_of_an_aligned_array(is_writeable):
    array = variable_memory._aligned_zeros((3, 5))
    array[:] = np.arange(15).reshape(3, 5)
    expected, address = np.array(array), array.ctypes.data
    array.flags.writeable = is_writeable

    tensor = tensorflow_tensor(array)
    del array
    gc.collect()
    others = [variable_memory._aligned_zeros((3, 5)) + 7 for _ in range(99)]

    assert tensor._numpy().ctypes.data == address
    np.testing.assert_array_equal(tensor.numpy(), expected)
    assert others


def test_tensorflow_copies_what_lies_otherwise(small_blocks):
    aligned = variable_memory._aligned_zeros((7, 5))
    aligned[:] = np.arange(35).reshape(7, 5)
    for array in (aligned.T, aligned[1:], aligned.astype("float16")):
        tensor = tensorflow_tensor(array)
        assert tensor.dtype == array.dtype
        np.testing.assert_array_equal(tensor.numpy(), array)
        assert not np.shares_memory(tensor._numpy(), aligned)
    number = tensorflow_tensor(np.ones((), "float32"))
    assert (number.shape, float(number)) == ((), 1)
