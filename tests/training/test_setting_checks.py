import numpy as np
import pytest

from keras_albert.training.setting_checks import check_counts
from keras_albert.training.setting_checks import check_numbers


def test_whole_numbers_pass():
    check_counts(steps=1, batch_size=np.int64(8), every=None, seed=2**70)
    check_counts(at_least=0, seed=0)


@pytest.mark.parametrize("value", [1.5, 2.0, "3", True, float("nan"), [1]])
def test_what_is_no_whole_number_is_named(value):
    with pytest.raises(TypeError, match="`steps` must be a whole number"):
        check_counts(steps=value)


@pytest.mark.parametrize("at_least, value", [(1, 0), (0, -1)])
def test_what_is_too_low_is_named(at_least, value):
    with pytest.raises(ValueError, match=f"at least {at_least}.*seed={value}"):
        check_counts(at_least=at_least, seed=value)


def test_numbers_within_bounds_pass():
    check_numbers("above 0", rate=1e-9, other=np.float32(2), none=None)
    check_numbers("at least 0 and below 1", share=0, other=0.999)


@pytest.mark.parametrize("value", ["0.1", True, [1.0], 1j])
def test_what_is_no_number_is_named(value):
    with pytest.raises(TypeError, match="`rate` must be a number"):
        check_numbers("above 0", rate=value)


@pytest.mark.parametrize(
    "bounds, value",
    [
        ("above 0", 0),
        ("above 0", -1.0),
        ("above 0", float("nan")),
        ("above 0", float("inf")),
        ("at least 0", -1e-9),
        ("at least 0 and below 1", 1.0),
        ("at least 0 and below 1", float("nan")),
    ],
)
def test_what_is_out_of_bounds_is_named(bounds, value):
    with pytest.raises(ValueError, match=f"`rate` must be a number {bounds}"):
        check_numbers(bounds, rate=value)
