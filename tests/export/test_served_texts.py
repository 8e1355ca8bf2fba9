"""Strings to ids inside the graph, against the preprocessor in Python."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.served_texts import ServedTexts
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from tests.export.tiny_classifiers import PIECES
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_tokenizer

LONG = "the film was good " * 20


def preprocessor(kind="word_piece"):
    return AlbertTextClassifierPreprocessor(tiny_tokenizer(kind), 19)


def words(packed, row=0):
    """The pieces of a row, up to its padding."""
    length = int(packed["padding_mask"][row].numpy().sum())
    return [PIECES[i] for i in packed["token_ids"][row].numpy()[:length]]


@pytest.mark.parametrize("kind", ["sentence_piece", "word_piece"])
@pytest.mark.parametrize("second", [[], [TEXTS[::-1]]], ids=["single", "pair"])
def test_ids_are_those_of_the_preprocessor(kind, second):
    texts = [TEXTS, *second]
    expected = preprocessor(kind)(tuple(texts), None)

    packed = ServedTexts(preprocessor(kind)).pack(*map(tf.constant, texts))

    for name, values in packed.items():
        width = values.shape[1]
        np.testing.assert_array_equal(values, expected[name][:, :width])
        assert not np.any(expected[name][:, width:])


@pytest.mark.parametrize(
    "texts, width",
    [(["the film"], 8), ([], 8), (["the " * 8], 16), ([LONG, "the"], 19)],
)
def test_rows_are_no_longer_than_needed(texts, width):
    packed = ServedTexts(preprocessor()).pack(tf.constant(texts, tf.string))

    shapes = {tuple(values.shape) for values in packed.values()}
    assert shapes == {(len(texts), width)}


def test_a_typed_mask_is_found_and_nothing_else():
    texts = ServedTexts(preprocessor())

    packed = texts.pack_with_masks(
        tf.constant(["the [MASK] was[MASK][MASK]", "[MASK]", "good", ""])
    )
    special = texts.pack_with_masks(tf.constant(["the [CLS] [SEP] [mask]"]))

    mask, edge = "[MASK]", ("[CLS]", "[SEP]")
    assert words(packed) == [edge[0], "the", mask, "was", mask, mask, edge[1]]
    assert words(packed, 1) == [edge[0], mask, edge[1]]
    assert words(packed, 2) == [edge[0], "good", edge[1]]
    assert words(packed, 3) == [*edge]
    assert words(special)[1:-1] == ["the", *["[UNK]"] * 9]


def test_masks_of_no_texts():
    texts = ServedTexts(preprocessor())

    packed = texts.pack_with_masks(tf.constant([], tf.string))

    assert packed["token_ids"].shape == (0, 8)


def test_bytes_that_are_not_text():
    texts = ServedTexts(preprocessor())

    packed = texts.pack_with_masks(tf.constant([b"the \xff[MASK]\xff film"]))

    assert words(packed) == ["[CLS]", "the", "[MASK]", "film", "[SEP]"]
