import pytest

from keras_albert.training.weight_dtype import check_weight_dtype


@pytest.mark.parametrize(
    "dtype", [None, "float32", "mixed_bfloat16", "mixed_float16"]
)
def test_weights_of_32_bits_are_trained(dtype):
    check_weight_dtype(dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits_are_refused(dtype):
    with pytest.raises(
        ValueError, match=f"dtype='{dtype}'. Pass 'mixed_{dtype}'"
    ):
        check_weight_dtype(dtype)
