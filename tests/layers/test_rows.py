"""Products of positions: small on TensorFlow, and no number changed."""

import keras
import numpy as np
import pytest

from keras_albert.layers import TransformerLayer
from keras_albert.layers.rows import as_rows
from keras_albert.layers.rows import as_sequences
from tests.checks import randomize
from tests.checks import to_numpy

X = np.random.default_rng(4).normal(size=(3, 5, 8)).astype("float32")


@pytest.mark.every_backend
@pytest.mark.parametrize("shape", [(3, 5, 8), (15, 8), (3, 1, 5, 8)])
def test_there_and_back(shape):
    x = X.reshape(shape)

    rows = as_rows(keras.ops.convert_to_tensor(x))

    np.testing.assert_array_equal(
        to_numpy(rows).reshape(15, 8), X.reshape(15, 8)
    )
    np.testing.assert_array_equal(to_numpy(as_sequences(rows, x)), x)


@pytest.mark.parametrize("length", [5, None])
def test_tensorflow_needs_no_arithmetic_with_shapes(length):
    tf = pytest.importorskip("tensorflow")
    layer = TransformerLayer(hidden_dim=8, num_heads=2, intermediate_dim=11)
    layer.build(X.shape)
    randomize(layer)

    @tf.function(input_signature=[tf.TensorSpec((None, length, 8))])
    def call(hidden):
        return layer(hidden, training=True)

    graph = call.get_concrete_function().graph
    names = {operation.type for operation in graph.get_operations()}
    # What tf.tensordot splits a product of three-dimensional tensors into.
    assert not names & {"Prod", "ConcatV2", "GatherV2"}
    assert call(X).shape == X.shape
    # For any number of examples, none included.
    for count in (0, 1):
        np.testing.assert_allclose(
            call(X[:count]), call(X)[:count], rtol=1e-5, atol=1e-5
        )
