"""Texts and labels in memory, as a dataset can take them."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.models.memory_examples import class_ids
from keras_albert.models.memory_examples import clean_texts
from keras_albert.models.memory_examples import example_count


@pytest.mark.parametrize(
    ("x", "count"),
    [
        ([], 0),
        (["a", "b"], 2),
        ((["a"], ["b"]), 1),
        (np.zeros((3, 2)), 3),
        ({"token_ids": np.zeros((0, 2))}, 0),
        (tf.constant(["a"]), 1),
        (tf.data.Dataset.from_tensors(["a"]), None),
        (None, None),
        ("a", None),
        (np.str_("a"), None),
    ],
)
def test_count_of_examples(x, count):
    assert example_count(x) == count


def test_texts_are_cleaned_whatever_holds_them():
    dirty, clean = ["a\ud800", "好\U0001f600"], ["a\ufffd", "好\U0001f600"]

    assert clean_texts(dirty) == clean
    assert clean_texts((dirty, dirty)) == (clean, clean)
    assert clean_texts(np.array(dirty)).tolist() == clean
    assert clean_texts(np.array(dirty, object)).tolist() == clean
    assert clean_texts([b"a\xff"]) == ["a\ufffd"]


def test_other_inputs_are_left_alone():
    for x in (None, np.zeros(3), tf.constant(["a"]), {"token_ids": [1]}):
        assert clean_texts(x) is x


@pytest.mark.parametrize("x", [["a", None], [["a", "b"]], ["a", 1.0]])
def test_what_is_no_text_is_named(x):
    with pytest.raises(ValueError, match="must be strings. Received: "):
        clean_texts(x)


@pytest.mark.parametrize(
    "hold", [list, tuple, np.array, lambda y: np.array(y, object), tf.constant]
)
def test_names_become_numbers(hold):
    ids = class_ids(hold(["好", "bad", "好"]), ["bad", "好"])

    assert ids.tolist() == [1, 0, 1]


@pytest.mark.parametrize("y", [None, [0, 1], np.array([0.5]), []])
def test_numbers_stay_as_they_are(y):
    assert class_ids(y, ["bad", "good"]) is y


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"\['a'\]. Received others: \['b'\]"):
        class_ids(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="made without `labels`"):
        class_ids(["a", "b"], None)
