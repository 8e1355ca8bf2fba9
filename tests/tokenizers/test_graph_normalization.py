"""Normalisation in the graph, judged by the steps in Python."""

import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.tokenizers import graph_normalization
from keras_albert.tokenizers.normalization import clean_unicode
from tests.tokenizers.conftest import every_character
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.conftest import telling_characters
from tests.tokenizers.google_tokenizers import preprocess_text


def in_graph(texts, **options):
    normalize = tf.function(
        graph_normalization.graph_normalizer(**options),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    encoded = [t if isinstance(t, bytes) else t.encode() for t in texts]
    found = normalize(tf.constant(encoded, tf.string, [len(texts)]))
    return [t.decode() for t in found.numpy()]


@pytest.fixture(scope="module")
def characters():
    return every_character()


@pytest.mark.parametrize(
    "option, expected",
    [
        ("lowercase", "E a"),
        ("strip_accents", "é a"),
        ("collapse_whitespace", " e  a"),
    ],
)
def test_each_option_turns_off_one_step(option, expected):
    off = {option: False}

    assert in_graph([" É  a"], **off) == [expected]


def test_graph_equals_python_on_every_character(characters):
    assert in_graph(characters) == [preprocess_text(c) for c in characters]


# The neighbours of a sigma decide its form.
@pytest.mark.parametrize("around", ["A{}Σ", "AΣ{}a"])
def test_sigma_beside_every_character(around):
    texts = [around.format(c) for c in telling_characters()]

    assert in_graph(texts) == [preprocess_text(t) for t in texts]


def test_graph_equals_python_on_hostile_texts():
    texts = hostile_texts(20_000)

    assert in_graph(texts) == [preprocess_text(t) for t in texts]


def test_graph_equals_python_without_stripping():
    texts = hostile_texts(10_000, seed=8)

    found = in_graph(texts, strip_accents=False)

    assert found == [" ".join(t.split()).lower() for t in texts]


def test_bytes_that_are_not_utf8_are_replaced_alike():
    rng = np.random.default_rng(0)
    parts = np.frombuffer(
        bytes.fromhex("4180bfc0c3a9e282aceda0f09f98f490ffef"), "u1"
    )
    texts = [
        rng.choice(parts, rng.integers(0, 8)).tobytes() for _ in range(5000)
    ]

    options = {"lowercase": False, "strip_accents": False}
    found = in_graph(texts, collapse_whitespace=False, **options)

    assert found == [clean_unicode(t) for t in texts]
    assert found == [t.decode("utf-8", "replace") for t in texts]


def test_empty_batch():
    assert in_graph([]) == []


def test_sigma_context_does_not_change_with_case(characters):
    # The graph looks at the neighbours after it has lower-cased them.
    def is_cased(text):
        return (text + "Σ").lower().endswith("ς")

    changing = [c for c in characters if c != c.lower()]

    assert [c for c in changing if is_cased(c) != is_cased(c.lower())] == []


def test_character_class_holds_what_it_should():
    pattern = graph_normalization.character_class(
        lambda c: c in "xyz\x00\U0001f600"
    )

    found = tf.strings.regex_replace("w\x00x😀z", pattern, "_").numpy()

    assert found == b"w____"


def test_table_replaces_whole_rows():
    table = tuple(np.array(a, "int32") for a in ([4, 7], [0, 0, 3], [1, 2, 3]))

    flat, splits = graph_normalization.replace_by_table(
        tf.constant([7, 5, 4, 7, 9]), tf.constant([0, 2, 2, 5], "int64"), table
    )

    assert flat.numpy().tolist() == [1, 2, 3, 5, 1, 2, 3, 9]
    assert splits.numpy().tolist() == [0, 4, 4, 8]


def test_unicode_data_is_not_older_than_the_tables_in_models():
    assert tuple(map(int, unicodedata.unidata_version.split("."))) >= (14, 0)
