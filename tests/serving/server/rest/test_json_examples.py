"""The judge is `tf.train.Example`."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.rest.json_examples import classify_reply
from keras_albert.serving.server.rest.json_examples import example_from_json
from keras_albert.serving.server.rest.json_examples import regress_reply
from keras_albert.serving.server.rest.json_examples import serialized_examples


def official(message):
    return tf.train.Example.FromString(message)


def test_tokens_tell_the_kind():
    (found,) = serialized_examples(
        {
            "examples": [
                {
                    "text": ["a", {"b64": "/w=="}],
                    "count": [1, True],
                    "number": [1.5, 2e0],
                    "none": [],
                }
            ]
        }
    )

    feature = official(found).features.feature
    assert list(feature["text"].bytes_list.value) == [b"a", b"\xff"]
    assert list(feature["count"].int64_list.value) == [1, 1]
    assert list(feature["number"].float_list.value) == [1.5, 2.0]
    assert feature["none"].WhichOneof("kind") is None


def test_a_feature_of_the_example_goes_before_the_context_s():
    found = serialized_examples(
        {"context": {"a": 1, "b": 2}, "examples": [{"a": 3}, {}]}
    )

    values = [
        {n: f.int64_list.value[0] for n, f in e.features.feature.items()}
        for e in map(official, found)
    ]
    assert values == [{"a": 3, "b": 2}, {"a": 1, "b": 2}]


@pytest.mark.parametrize(
    "value, text",
    [
        (1, "must be JSON object but got JSON Number"),
        ({"a": [1, 1.0]}, "feature: a expecting type: int64"),
        ({"a": [[1]]}, "unexpected JSON type: Array"),
        ({"a": {"b": 1}}, "unexpected JSON type: Object"),
        ({"a": 2**63}, "Only int64"),
    ],
)
def test_what_is_no_example(value, text):
    with pytest.raises(ServingError, match=text):
        example_from_json(value)


def test_results():
    scores = np.array([0.5, 1 / 3], "float32")
    rows = [[(b"a", scores[0]), (b'"', scores[1])], []]

    assert classify_reply(rows) == (
        b'{"results": [[["a", 0.5], ["\\"", 0.333333343]], []]}'
    )
    assert regress_reply(scores) == b'{"results": [0.5, 0.333333343]}'
