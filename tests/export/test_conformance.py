import json

import keras
import numpy as np
import pytest

from keras_albert.export.conformance import ConformanceCase
from keras_albert.export.conformance import check_cases
from keras_albert.export.conformance import make_cases
from keras_albert.export.conformance import padded_inputs
from keras_albert.export.conformance import read_cases
from keras_albert.export.conformance import write_cases
from keras_albert.export.opening import served_task
from keras_albert.tokenizers.loading import load_tokenizer
from tests.export.token_exports import KINDS
from tests.export.token_exports import ask_keras
from tests.export.token_exports import tiny_model


def case(ids=(2, 7, 3), output=(0.25, 3.0), **more):
    inputs = {"token_ids": np.array(ids, "int32"), **more}
    return ConformanceCase("x", inputs, {"y": np.array(output, "float32")})


@pytest.mark.every_backend
@pytest.mark.parametrize("kind", KINDS)
def test_cases_hold_what_keras_predicts(kind):
    model, preprocessor = tiny_model(kind)

    cases = make_cases(
        served_task(model, preprocessor), model, preprocessor, [9]
    )

    inputs = padded_inputs(cases)
    want = ask_keras(model, inputs)
    if kind == "classifier":
        want = keras.ops.softmax(want)
        want = {"probabilities": keras.ops.convert_to_numpy(want)}
    if kind == "regressor":
        want = {"value": want[:, 0]}
    if kind == "backbone":
        want["pooled"] = want.pop("pooled_output")
        want["mean_pooled"] = np.stack(
            [
                hidden[: len(case)].mean(0)
                for case, hidden in zip(
                    cases, want["sequence_output"], strict=True
                )
            ]
        )
    assert set(cases[0].outputs) == set(want)
    assert check_cases(cases, want, "Keras") < 1e-4
    assert [len(case) for case in cases][-1] == 9


def test_the_ids_are_those_of_the_text(token_exports):
    _, preprocessor, made = token_exports("classifier", "onnx")
    tokenizer = load_tokenizer(made.path)

    cases = read_cases(made.path)

    assert "房间很干净，服务员也很热情，下次还会来。" in [c.text for c in cases]
    for case in cases:
        (ids,) = tokenizer.encode_batch([case.text])
        room = len(case) - 2
        want = [tokenizer.cls_token_id, *ids[:room], tokenizer.sep_token_id]
        assert case.inputs["token_ids"].tolist() == want
        assert case.inputs["padding_mask"].all()


def test_file_keeps_every_bit(tmp_path):
    values = np.array([[1 / 3, -1e-30], [16777217.0, 0.1]], "float32")

    write_cases(tmp_path, [case(output=values)])

    (found,) = read_cases(tmp_path)
    np.testing.assert_array_equal(found.outputs["y"], values)
    assert found.outputs["y"].dtype == "float32"
    assert found.inputs["token_ids"].tolist() == [2, 7, 3]
    stored = json.loads((tmp_path / "conformance.json").read_text())
    assert stored["cases"][0]["outputs"]["y"][0][0] == 0.33333334


def test_padding():
    masks = {"mask_positions": np.array([1], "int32")}

    found = padded_inputs([case(**masks), case((2, 3), **masks)], 4, masks=2)

    assert found["token_ids"].tolist() == [[2, 7, 3, 0], [2, 3, 0, 0]]
    assert found["mask_positions"].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    "found, message",
    [
        (
            {"y": np.array([[0.2502, 3.0]])},
            "differs .* by 0.0002 in y for a te",
        ),
        ({"y": np.array([[0.25, 3.0004]])}, "by 0.00013 in y"),
        ({"y": np.array([[0.25, np.nan]])}, "by inf in y"),
        ({"y": np.array([[0.25]])}, "by inf in y"),
        ({"y": np.zeros((2, 2))}, r"1 rows of y. Found: \{'y': \(2, 2\)\}"),
        ({"z": np.zeros((1, 2))}, "1 rows of y"),
    ],
)
def test_other_answers_are_refused(found, message):
    with pytest.raises(ValueError, match=message):
        check_cases([case()], found, "It")


def test_what_is_computed_for_padding_does_not_count():
    found = {"y": np.array([[0.25, 3.0, 99.0]])}

    assert check_cases([case()], found, "It") == 0
