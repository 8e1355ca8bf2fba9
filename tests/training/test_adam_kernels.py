"""The engines' kernels against the formula, with what the optimizers leave out.

The optimizers on top: test_adam and test_lamb.
"""

import keras
import numpy as np
import pytest

from keras_albert.training.adam_kernels import tensorflow_adam
from keras_albert.training.adam_kernels import torch_adam

pytestmark = pytest.mark.every_backend

RNG = np.random.default_rng(0)
WEIGHT, GRADIENT, MEAN = RNG.normal(size=(3, 4, 5)).astype("float32")
SQUARE = RNG.uniform(0.5, 1, (4, 5)).astype("float32")
SETTINGS = {"rate": 0.1, "betas": (0.8, 0.9), "epsilon": 0.5}


def by_formula(correction=(1.0, 1.0)):
    mean = 0.8 * MEAN + 0.2 * GRADIENT
    square = 0.9 * SQUARE + 0.1 * GRADIENT**2
    step = mean / correction[0] / (np.sqrt(square / correction[1]) + 0.5)
    return WEIGHT - 0.1 * step, mean, square


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's kernel"
)
def test_tensorflow_adam():
    import tensorflow as tf

    weight, mean, square = map(tf.Variable, (WEIGHT, MEAN, SQUARE))
    tensorflow_adam(weight, tf.constant(GRADIENT), mean, square, **SETTINGS)

    for mine, expected in zip(
        (weight, mean, square), by_formula(), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), expected, rtol=1e-5)


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch's kernel"
)
@pytest.mark.parametrize("finished", [None, 2])
def test_torch_adam(finished):
    import torch

    tensors = [torch.tensor(x) for x in (WEIGHT, GRADIENT, MEAN, SQUARE)]
    steps = None if finished is None else torch.tensor(finished)
    torch_adam(*([x] for x in tensors), finished_steps=steps, **SETTINGS)

    # The third update, if two are finished.
    expected = by_formula((1 - 0.8**3, 1 - 0.9**3) if finished else (1.0, 1.0))
    weight, gradient, mean, square = tensors
    for mine, wanted in zip((weight, mean, square), expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), wanted, rtol=1e-5)
    np.testing.assert_array_equal(gradient.numpy(), GRADIENT)
    assert steps is None or int(steps) == finished


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch's kernel"
)
def test_torch_adam_takes_gradients_of_16_bits():
    import torch

    tensors = [torch.tensor(x) for x in (WEIGHT, GRADIENT, MEAN, SQUARE)]
    tensors[1] = tensors[1].bfloat16()
    torch_adam(*([x] for x in tensors), **SETTINGS)

    np.testing.assert_allclose(tensors[0], by_formula()[0], atol=1e-3)
