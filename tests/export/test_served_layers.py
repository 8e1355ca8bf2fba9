import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.served_layers import ACTIVATIONS
from keras_albert.export.served_layers import PORTABLE_ACTIVATIONS
from keras_albert.export.served_layers import Dense
from keras_albert.export.served_layers import LayerNorm
from keras_albert.layers.activations import get_activation

ROWS = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -4.0]], "float32")


def test_dense():
    dense = Dense([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]], [10.0, 20.0])

    assert dense(ROWS).numpy().tolist() == [[7, 15], [11, 24.25]]


def test_norm_is_that_of_keras():
    layer = keras.layers.LayerNormalization(epsilon=1e-3)
    layer.build((2, 3))
    layer.set_weights([np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -1.0])])

    found = LayerNorm.of(layer)(tf.constant(ROWS))

    np.testing.assert_allclose(found, layer(ROWS), atol=1e-6)


def test_weights_are_copied_in_the_dtype():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))

    dense = Dense.of(layer, tf.bfloat16)
    before = dense.kernel.numpy().astype("float32")
    layer.kernel.assign(layer.kernel.numpy() + 1)

    assert {v.dtype for v in dense.variables} == {tf.bfloat16}
    np.testing.assert_array_equal(
        dense.kernel.numpy().astype("float32"), before
    )


@pytest.mark.parametrize("table", [ACTIVATIONS, PORTABLE_ACTIVATIONS])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_those_of_keras(table, name):
    values = np.linspace(-4, 4, 41).astype("float32")

    found = table[name](tf.constant(values))

    want = keras.ops.convert_to_numpy(get_activation(name)(values))
    np.testing.assert_allclose(found, want, atol=1e-6)
