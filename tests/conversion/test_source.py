"""From an opened checkpoint to a model of ours."""

import numpy as np
import pytest

from keras_albert.conversion.google import google_source
from keras_albert.conversion.source import load
from tests.checks import to_numpy


@pytest.fixture
def source(golden):
    folder = golden / "google_tf1" / "tiny_all"
    return google_source(folder / "model.ckpt", folder / "albert_config.json")


class Vocabulary:
    """As much of a tokenizer as the check of sizes sees."""

    def __init__(self, size):
        self.vocabulary_size = lambda: size


def test_another_model_can_be_asked_for(source):
    converted = load(source, task="backbone")

    assert type(converted.model).__name__ == "AlbertBackbone"
    assert len(converted.report.skipped) == 7
    assert set(converted.report.skipped.values()) == {
        "the model asked for has no such head"
    }


def test_a_classifier_gets_a_new_head(source):
    converted = load(source, task="classifier", num_classes=3)

    assert converted.model.num_classes == 3
    assert converted.report.new_heads == ["classifier"]
    kernel = to_numpy(converted.model.logits.kernel.value)
    assert 0.01 < kernel.std() < 0.03
    assert not to_numpy(converted.model.logits.bias.value).any()


def test_arguments_of_the_backbone_can_be_replaced(source):
    converted = load(source, backbone={"hidden_dropout": 0.3})

    assert converted.model.backbone.hidden_dropout == 0.3


def test_a_vocabulary_that_is_too_large_is_refused(source):
    source.tokenizer = Vocabulary(98)
    with pytest.raises(ValueError, match="98 pieces, the model 97 rows"):
        load(source)


def test_a_vocabulary_that_is_smaller_is_noted(source):
    source.tokenizer = Vocabulary(90)
    converted = load(source, task="backbone")
    assert "never used" in converted.report.notes[0]


def test_arrays_are_read_by_our_names(source):
    kernel = source.read("sentence_order/kernel")

    theirs = source.weights.read("cls/seq_relationship/output_weights")
    np.testing.assert_array_equal(kernel, theirs.T)
    assert source.read("classifier/kernel") is None
