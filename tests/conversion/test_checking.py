"""What counts as a difference, and what a batch looks like."""

import numpy as np
import pytest

from keras_albert.conversion.checking import check_inputs
from keras_albert.conversion.checking import differences
from keras_albert.conversion.checking import outputs_of
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from keras_albert.models import AlbertTextClassifier
from tests.checks import to_numpy
from tests.models.tiny_models import tiny_backbone
from tests.models.tiny_models import tiny_pretrainer

MASK = np.array([[1, 1, 1], [1, 1, 0]])


def test_differences_are_absolute_up_to_one_and_relative_above():
    ours = {"small": np.array([[0.5, 0.2]]), "large": np.array([[101.0]])}
    theirs = {"small": np.array([[0.4, 0.2]]), "large": np.array([[100.0]])}

    found = differences(ours, theirs, MASK)

    assert found["small"] == pytest.approx(0.1)
    assert found["large"] == pytest.approx(0.01)


def test_padding_does_not_count_but_what_is_not_finite_does():
    ours = np.zeros((2, 3, 4))
    theirs = ours.copy()
    theirs[1, 2] = 9
    assert differences({"x": ours}, {"x": theirs}, MASK) == {"x": 0}
    theirs[0, 0] = np.nan
    assert np.isnan(differences({"x": ours}, {"x": theirs}, MASK)["x"])


def test_another_shape_differs_and_other_outputs_are_left_out():
    ours = {"x": np.zeros((2, 3)), "ours": np.zeros(1)}
    found = differences(ours, {"x": np.zeros((2, 4))}, MASK)
    assert found == {"x": np.inf}


@pytest.mark.parametrize(
    "sizes",
    [
        {"vocabulary_size": 50},
        {"vocabulary_size": 3, "max_sequence_length": 5, "num_segments": 1},
    ],
)
def test_a_batch_fits_the_model(sizes):
    inputs = check_inputs(sizes)

    length = min(16, sizes.get("max_sequence_length", 16))
    assert {x.shape for x in inputs.values()} == {(2, length)}
    assert inputs["token_ids"].max() < sizes["vocabulary_size"]
    assert inputs["segment_ids"].max() == sizes.get("num_segments", 2) - 1
    assert 0 < inputs["padding_mask"][1].sum() < length
    again = check_inputs(sizes)["token_ids"]
    np.testing.assert_array_equal(inputs["token_ids"], again)


def converted(model, new=()):
    return Converted(model, None, ConversionReport(new=list(new)), {}, "x")


def test_heads_that_are_new_are_not_compared():
    pretrainer = tiny_pretrainer()
    inputs = check_inputs({"vocabulary_size": 13, "max_sequence_length": 9})

    every, runner = outputs_of(converted(pretrainer), inputs, None)
    some, _ = outputs_of(
        converted(pretrainer, ["pooler/bias", "sentence_order/bias"]),
        inputs,
        None,
    )

    assert runner == "keras_albert"
    assert set(every) - set(some) == {"pooled_output", "sentence_order"}
    assert every["masked_lm"].shape == (2, 9, 13)


def test_a_classifier_is_compared_before_its_softmax():
    model = AlbertTextClassifier(
        tiny_backbone(), num_classes=3, activation="softmax"
    )
    inputs = check_inputs({"vocabulary_size": 13, "max_sequence_length": 9})

    scores = outputs_of(converted(model), inputs, None)[0]["classifier"]

    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(shares, to_numpy(model(inputs)), atol=1e-6)
