"""The script that runs a SavedModel without this package."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import fresh_process


@pytest.fixture
def saved(tmp_path):
    """A SavedModel that answers with the lengths of its strings."""
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def lengths(text):
        return {"copy": text, "length": tf.strings.length(text)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.float32, "x")],
        jit_compile=True,
    )
    def compiled(x):
        return {"y": x + 1.0}

    def save(name, **signatures):
        functions = {"lengths": lengths, "compiled": compiled}
        signatures = {k: functions[v] for k, v in signatures.items()}
        tf.saved_model.save(module, tmp_path / name, signatures=signatures)
        return str(tmp_path / name)

    return save


def call(*texts):
    encoded = [base64.b64encode(text).decode() for text in texts]
    return {"signature": "serving_default", "inputs": {"text": encoded}}


CALLS = [call(b"ab", b"\xff\x00c"), call()]
ANSWERS = [
    {
        "copy": {"shape": [2], "values": ["YWI=", "/wBj"]},
        "length": {"shape": [2], "values": [2, 3]},
    },
    {
        "copy": {"shape": [0], "values": []},
        "length": {"shape": [0], "values": []},
    },
]


def test_both_loaders_answer(saved):
    folder = saved("plain", serving_default="lengths")

    signatures, answers = fresh_process.run_in_session(folder, CALLS)

    assert answers == ANSWERS
    assert fresh_process.run_loaded(folder, CALLS) == ANSWERS
    assert signatures == {
        "serving_default": {
            "inputs": {"text": ["string", [-1]]},
            "outputs": {"copy": ["string", [-1]], "length": ["int32", [-1]]},
        }
    }


def test_operations_of_functions_are_listed(saved):
    operations = fresh_process.describe_operations(
        saved("plain", serving_default="lengths")
    )

    assert operations["StringLength"]
    assert "XlaLaunch" not in operations
    assert not [name for name in operations if name.startswith("__inference")]


def test_compiled_functions_count_as_xla(saved):
    operations = fresh_process.describe_operations(
        saved("compiled", serving_default="compiled")
    )

    assert "XlaLaunch" in operations


def test_runs_as_a_script_without_the_package(saved, tmp_path):
    request, reply = tmp_path / "request.json", tmp_path / "reply.json"
    folder = saved("plain", serving_default="lengths")
    request.write_text(
        json.dumps(
            {
                "folder": folder,
                "calls": CALLS,
                "loaded_calls": CALLS[:1],
                "check": True,
            }
        )
    )

    subprocess.run(
        [sys.executable, "-P", Path(fresh_process.__file__), request, reply],
        check=True,
        cwd=tmp_path,
    )

    found = json.loads(reply.read_text())
    assert found["answers"] == ANSWERS
    assert found["loaded_answers"] == ANSWERS[:1]
    assert found["modules"] == []


def test_floats_survive_the_journey():
    values = np.array([[0.1, 1 / 3], [1e-30, 0.7]], "float32")

    coded = json.loads(json.dumps(fresh_process.encode({"p": values})))["p"]

    decoded = np.array(coded["values"], "float32").reshape(coded["shape"])
    np.testing.assert_array_equal(decoded, values)
