"""Activations against formulas."""

import math

import numpy as np
import pytest

from keras_albert.layers.activations import get_activation
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.linspace(-4, 4, 41, dtype="float32")


def test_gelu_tanh_is_the_approximation():
    y = to_numpy(get_activation("gelu_tanh")(X))

    np.testing.assert_allclose(
        y, numpy_albert.gelu_tanh(np.float64(X)), atol=1e-6
    )


def test_gelu_erf_is_the_exact_form():
    expected = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in X]

    y = to_numpy(get_activation("gelu_erf")(X))

    np.testing.assert_allclose(y, expected, atol=1e-6)
    # The two differ by up to 5e-4: the names cannot be mixed up unnoticed.
    assert np.abs(y - numpy_albert.gelu_tanh(np.float64(X))).max() > 1e-4


def test_plain_gelu_is_refused_with_both_meanings():
    with pytest.raises(ValueError, match="'gelu_tanh' for Google's"):
        get_activation("gelu")


def test_unknown_activation_lists_the_known():
    with pytest.raises(ValueError, match="gelu_tanh, gelu_erf, relu"):
        get_activation("swishy")
