"""A table fills a model completely or not at all."""

import keras
import numpy as np
import pytest

from keras_albert.conversion.google_names import GOOGLE
from keras_albert.conversion.hugging_face_names import HUGGING_FACE
from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.weight_files import ArraysInMemory
from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import RESHAPED
from keras_albert.conversion.weight_table import TRANSPOSED
from keras_albert.conversion.weight_table import assign_weights
from keras_albert.conversion.weight_table import to_form
from keras_albert.conversion.weight_table import variable_as
from tests.checks import to_numpy
from tests.models.tiny_models import tiny_pretrainer


@pytest.fixture
def dense():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    return layer


@pytest.fixture
def variables(dense):
    return {"layers/w": dense.kernel, "layers/b": dense.bias}


ROWS = {"layers/w": ("w", TRANSPOSED), "layers/b": ("b", AS_IS)}
SOURCE = {"w": np.arange(6.0).reshape(3, 2), "b": np.ones(3)}


def assign(variables, source, rows=ROWS, **skipped):
    return assign_weights(variables, rows, ArraysInMemory(source), skipped)


@pytest.mark.every_backend
def test_every_variable_is_set_and_reported(dense, variables):
    report = assign(variables, {**SOURCE, "step": np.array(7)}, step="counter")

    np.testing.assert_array_equal(to_numpy(dense.kernel.value), SOURCE["w"].T)
    np.testing.assert_array_equal(to_numpy(dense.bias.value), SOURCE["b"])
    assert report.loaded == {"w": "layers/w", "b": "layers/b"}
    assert report.skipped == {"step": "counter"}
    assert report.new == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"w": SOURCE["w"]}, "Missing in the checkpoint: b"),
        ({**SOURCE, "extra": SOURCE["b"]}, "In the checkpoint alone: extra"),
        ({**SOURCE, "b": np.ones(4)}, r"shape of b .*\(4,\), expected \(3,\)"),
        (
            {**SOURCE, "w": np.ones((2, 3))},
            r"shape of w .*\(2, 3\), expected \(3, 2\)",
        ),
    ],
)
def test_anything_that_does_not_fit_is_named_and_nothing_set(
    dense, variables, source, message
):
    before = to_numpy(dense.kernel.value)

    with pytest.raises(ValueError, match=message):
        assign(variables, source)

    np.testing.assert_array_equal(to_numpy(dense.kernel.value), before)


def test_a_part_may_be_absent_but_not_half_absent(dense):
    variables = {"pooler/w": dense.kernel, "pooler/b": dense.bias}
    rows = {"pooler/w": ("w", TRANSPOSED), "pooler/b": ("b", AS_IS)}

    assert assign(variables, {}, rows).new == ["pooler/w", "pooler/b"]
    with pytest.raises(ValueError, match="Missing in the checkpoint: b"):
        assign(variables, {"w": SOURCE["w"]}, rows)


def test_only_some_names_are_listed(variables):
    many = {f"extra_{i:02}": np.ones(1) for i in range(40)}

    with pytest.raises(ValueError, match="extra_11, and 28 more") as error:
        assign(variables, {**SOURCE, **many})
    assert "extra_12" not in str(error.value)


def test_forms_turn_an_array_both_ways():
    array = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal(
        to_form(array.T, TRANSPOSED, array.shape), array
    )
    np.testing.assert_array_equal(
        to_form(array.reshape(4, 2, 3), RESHAPED, array.shape), array
    )


def test_a_variable_is_read_in_a_form_of_a_file(dense):
    dense.kernel.assign(np.arange(6.0).reshape(2, 3))
    shape, read = variable_as(dense.kernel, TRANSPOSED)

    assert shape == (3, 2)
    assert read().dtype == "float32"
    np.testing.assert_array_equal(read(), [[0, 3], [1, 4], [2, 5]])


@pytest.mark.parametrize("names", [GOOGLE, HUGGING_FACE])
def test_a_format_names_every_variable_once(names):
    pretrainer = tiny_pretrainer(
        num_layers=4, num_groups=2, num_inner_repetitions=2
    )

    theirs = [names.row(name)[0] for name in model_variables(pretrainer)]

    assert len(set(theirs)) == len(theirs) == len(pretrainer.weights)
    assert names.head_names() & set(theirs) == {
        name
        for name in theirs
        if "pool" in name
        or "cls" in name
        or name.startswith(("predictions", "sop"))
    }


def test_what_a_format_has_not_is_none():
    assert GOOGLE.row("router/kernel") is None
