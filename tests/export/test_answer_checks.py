"""Right answers pass, and wrong ones are named."""

import numpy as np
import pytest

from keras_albert.export.answer_checks import check_answer
from keras_albert.export.answer_checks import check_finite
from keras_albert.export.answer_checks import differences

WANTED = {
    "label": np.array([b"bad", b"good"], object),
    "probabilities": np.array([[0.9, 0.1], [0.2, 0.8]], "float32"),
}


def change(output, values):
    return {**WANTED, output: np.array(values, WANTED[output].dtype)}


@pytest.mark.parametrize(
    "got, message",
    [
        (change("label", [b"bad"]), r"label of shape \(2,\), found \(1,\)"),
        (change("label", [b"good", b"good"]), r"label should be b'bad' at"),
        (
            change("probabilities", [[np.nan, 0.1], [0.2, 0.8]]),
            "probabilities is not finite",
        ),
        (
            change("probabilities", [[0.90003, 0.1], [0.2, 0.8]]),
            "probabilities differs .* by 3e-05, more than 1e-05",
        ),
    ],
)
def test_wrong_answers_are_named(got, message):
    check_answer("pair", WANTED, {}, WANTED, "float32")

    with pytest.raises(ValueError, match=f"'pair', batch of 2: .*{message}"):
        check_answer("pair", WANTED, {}, got, "float32")


def test_uncertain_strings_may_differ():
    want = {"tokens": WANTED["label"]}
    got = {"tokens": np.array([b"bad", b"bad"], object)}

    for sure in ([True, False], [False, False]):
        check_answer("x", want, {"tokens": np.array(sure)}, got, "float32")
    with pytest.raises(ValueError, match="tokens should be b'good' at"):
        check_answer("x", want, {}, got, "float32")


def test_label_must_be_that_of_the_probabilities():
    got = change("probabilities", [[0.5, 0.50001], [0.2, 0.8]])
    want = change("probabilities", [[0.50001, 0.5], [0.2, 0.8]])

    with pytest.raises(ValueError, match="label b'bad' is not that of the hi"):
        check_answer("x", want, {"label": np.zeros(2, bool)}, got, "bfloat16")


def test_vectors_may_differ_relative_to_their_size():
    want = {"pooled": np.array([[1000.0, 1.0]], "float32")}

    check_answer("x", want, {}, {"pooled": want["pooled"] * 1.00009}, "float32")
    got = {"pooled": want["pooled"] * 1.0002}
    with pytest.raises(ValueError, match="pooled differs"):
        check_answer("x", want, {}, got, "float32")


def test_half_precision_is_judged_by_the_mean():
    want = {"pooled": np.zeros((4, 10), "float32")}
    some = want["pooled"].copy()
    some[0, 0] = 0.5

    check_answer("x", want, {}, {"pooled": some}, "bfloat16")
    with pytest.raises(ValueError, match="by 0.06, more than 0.05"):
        check_answer("x", want, {}, {"pooled": some + 0.0475}, "bfloat16")
    counts = {"num_masks": np.ones(3, "int32")}
    got = {"num_masks": np.array([1, 1, 2])}
    with pytest.raises(ValueError, match="num_masks differs"):
        check_answer("x", counts, {}, got, "bfloat16")


def test_answers_without_a_judge_must_be_finite():
    inputs = {"text": np.zeros(2, object)}

    check_finite("x", inputs, {"y": np.ones((2, 3)), "s": np.zeros(2, object)})
    with pytest.raises(ValueError, match="'x', batch of 2: y is not finite"):
        check_finite("x", inputs, {"y": np.array([1.0, np.inf])})
    with pytest.raises(ValueError, match="expected 2 rows of y, found"):
        check_finite("x", inputs, {"y": np.ones(3)})


def test_differences_are_summed_up():
    got = change("label", [b"bad", b"bad"])
    got["probabilities"] = WANTED["probabilities"] + np.float32(0.01)

    found = differences(
        [("pair", WANTED, {}, got), ("tokens", WANTED, {}, WANTED)]
    )

    assert found.largest == pytest.approx(0.01, rel=1e-3)
    assert found.mean == pytest.approx(0.005, rel=1e-3)
    assert (found.changed_labels, found.num_labels) == (1, 2)
