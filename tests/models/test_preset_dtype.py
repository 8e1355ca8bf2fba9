import json

import keras
import pytest

from keras_albert.models.preset_dtype import with_known_dtype


@pytest.fixture
def preset(tmp_path):
    def write(dtype):
        stored = keras.saving.serialize_keras_object(dtype)
        text = json.dumps({"config": {"dtype": stored}})
        (tmp_path / "config.json").write_text(text)
        return str(tmp_path)

    return write


@pytest.mark.parametrize("name", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_becomes_the_present_one(preset, name):
    path = preset(keras.DTypePolicy(name))

    assert with_known_dtype(path, {"num_classes": 2}) == {
        "num_classes": 2,
        "dtype": keras.config.dtype_policy(),
    }


def test_what_the_caller_asks_for_stays(preset):
    path = preset(keras.DTypePolicy("mixed_float16"))

    for arguments in ({"dtype": "bfloat16"}, {"backbone": object()}):
        assert with_known_dtype(path, arguments) == arguments


@pytest.mark.parametrize("name", ["float32", "int8_from_float32"])
def test_what_keras_hub_understands_is_left_to_it(preset, name):
    assert with_known_dtype(preset(keras.dtype_policies.get(name)), {}) == {}


def test_a_preset_without_dtype_needs_none(preset):
    assert with_known_dtype(preset(None), {}) == {}
