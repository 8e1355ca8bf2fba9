import numpy as np
import pytest

from keras_albert.export import litert_format
from keras_albert.export.conformance import read_cases
from tests.export.token_exports import KINDS
from tests.export.token_exports import ask_keras

pytest.importorskip("ai_edge_litert", reason="the extra `litert` is missing")
LENGTHS = [8, 16, 23]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [8, 23])
def test_signatures_answer_as_keras_does(token_exports, kind, length):
    model, _, made = token_exports(kind, "litert")
    ids = np.zeros((1, length), "int32")
    ids[0, :6] = [2, 9, 4, 8, 3, 3]
    inputs = {"token_ids": ids, "segment_ids": ids // 9}
    inputs["padding_mask"] = (ids > 0).astype("int32")
    if kind == "pretrainer":
        places = [[2, 1, 0, 0, 0, 0, 0, 0]]
        inputs["mask_positions"] = np.array(places, "int32")

    runners = litert_format.open_runners(made.path, LENGTHS)
    found = runners[length](**inputs)

    want = ask_keras(model, inputs)
    if kind == "classifier":
        exponents = np.exp(want)
        want = {"probabilities": exponents / exponents.sum(1, keepdims=True)}
    if kind == "regressor":
        want = {"value": want[:, 0]}
    if kind == "backbone":
        want = {
            "pooled": want["pooled_output"],
            "sequence_output": want["sequence_output"][:, :6],
        }
        found["sequence_output"] = found["sequence_output"][:, :6]
    for name, values in want.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)


def test_check_finds_other_answers_and_signatures(token_exports):
    _, _, made = token_exports("classifier", "litert")
    cases = read_cases(made.path)
    assert litert_format.check(made.path, None, cases, LENGTHS) < 1e-5
    with pytest.raises(ValueError, match="'length_16', 'length_24', 'length_8"):
        litert_format.open_runners(made.path, [8, 16, 24])

    cases[-1].outputs["probabilities"] += 0.01

    message = "LiteRT, signature 'length_23', differs .* by 0.01"
    with pytest.raises(ValueError, match=message):
        litert_format.check(made.path, None, cases, LENGTHS)
