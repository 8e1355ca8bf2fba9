"""The REST contract, against the local server or the one at `TFS_URL`."""

import json
import math

import numpy as np
import pytest

from tests.export.served_answers import answers
from tests.serving.contract.rest_cases import CASES
from tests.serving.contract.rest_cases import HALF
from tests.serving.running_server import ask

TEXTS = ["the film was good", "", "very dull 中文"]


def same(a, b):
    """Equality of JSON in which NaN equals NaN."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(rest_url, case):
    status, headers, body = ask(
        rest_url + case.path, case.body, case.method, case.headers
    )

    assert status == case.status, body
    assert headers["Content-Type"].startswith("application/json")
    if case.status != 200:
        (error,) = json.loads(body).items()
        assert error[0] == "error"
        assert all(part in error[1] for part in case.error), error[1]
    elif isinstance(case.reply, bytes):
        assert b"".join(body.split()) == case.reply
    else:
        assert same(json.loads(body), case.reply), body


def test_there_are_enough_cases():
    assert len(CASES) >= 60
    assert len({str(case) for case in CASES}) == len(CASES)


def test_a_path_outside_the_api_gets_a_page(rest_url):
    status, headers, body = ask(f"{rest_url}/v2/models")

    assert status == 404
    assert headers["Content-Type"].startswith("text/html")
    assert b"<html" in body.lower()


def test_metadata_tells_inputs_and_outputs(rest_url):
    status, _, body = ask(f"{rest_url}{HALF}/versions/1/metadata")
    reply = json.loads(body)

    assert status == 200
    assert reply["model_spec"] == {
        "name": "half",
        "signature_name": "",
        "version": "1",
    }
    signatures = reply["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "__saved_model_init_op"} <= signatures.keys()
    found = signatures["pairwise"]["inputs"]["numbers"]
    assert found["dtype"] == "DT_INT32"
    assert found["tensor_shape"] == {
        "dim": [{"size": "-1", "name": ""}, {"size": "2", "name": ""}],
        "unknown_rank": False,
    }
    assert found["name"].endswith(":0")
    assert signatures["floats"]["inputs"]["x"]["tensor_shape"]["unknown_rank"]
    assert signatures["pairwise"]["outputs"].keys() == {"negated", "total"}


def test_metadata_of_a_label(rest_url):
    _, _, body = ask(f"{rest_url}{HALF}/labels/stable/metadata")

    assert json.loads(body)["model_spec"]["version"] == "1"


def test_status_lists_all_versions(rest_url):
    _, _, body = ask(rest_url + HALF)
    found = json.loads(body)["model_version_status"]

    assert {(v["version"], v["state"]) for v in found} == {
        ("1", "AVAILABLE"),
        ("2", "AVAILABLE"),
    }


def test_a_classifier_answers_strings(rest_url, expected_answers):
    _, _, body = ask(f"{rest_url}/v1/models/albert:predict", {"inputs": TEXTS})
    outputs = json.loads(body)["outputs"]

    labels = [label.decode() for label in expected_answers["label"]]
    assert outputs["label"] == labels
    np.testing.assert_allclose(
        outputs["probabilities"], expected_answers["probabilities"], atol=1e-5
    )


def test_rows_of_strings_get_objects(rest_url, expected_answers):
    _, _, body = ask(
        f"{rest_url}/v1/models/albert:predict",
        {"instances": [{"text": text} for text in TEXTS]},
    )
    rows = json.loads(body)["predictions"]

    np.testing.assert_allclose(
        [row["probabilities"] for row in rows],
        expected_answers["probabilities"],
        atol=1e-5,
    )


def test_an_empty_batch_and_odd_texts_give_no_nan(rest_url):
    url = f"{rest_url}/v1/models/albert:predict"
    _, _, empty = ask(url, {"inputs": []})
    _, _, odd = ask(url, {"inputs": ["", " ", "\u0000", "x" * 5000, "🙂"]})

    assert json.loads(empty)["outputs"] == {"label": [], "probabilities": []}
    numbers = np.array(json.loads(odd)["outputs"]["probabilities"])
    assert np.isfinite(numbers).all()
    np.testing.assert_allclose(numbers.sum(-1), 1, atol=1e-5)


def test_bytes_that_are_no_utf8_are_taken(rest_url):
    status, _, body = ask(
        f"{rest_url}/v1/models/albert:predict", b'{"instances": ["\xff\xfe"]}'
    )

    assert status == 200, body


@pytest.fixture(scope="module")
def expected_answers(models_config):
    """What `tf.saved_model.load` answers to `TEXTS`."""
    return answers(models_config.parent / "albert" / "1", text=TEXTS)
