"""The script that runs a SavedModel without this package."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import fresh_process
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.session_calls import server_libraries

TEXTS = np.array([b"ab", b"\xff\x00c"], object)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A SavedModel with a lookup table, and calls of it."""
    folder = tmp_path_factory.mktemp("saved")
    module = tf.Module()
    module.factor = tf.Variable([2.0])

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([None, 2], tf.int32, "x"),
        ]
    )
    def measure(text, x):
        return {
            "copy": text,
            "length": tf.strings.length(text),
            "product": tf.cast(x, tf.float32) * module.factor,
        }

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.float32, "x")],
        jit_compile=True,
    )
    def compiled(x):
        return {"y": x + 1.0}

    tf.saved_model.save(
        module, folder, signatures={"measure": measure, "compiled": compiled}
    )
    return folder, read_graph(folder).signature_def


def call(saved, texts):
    _, signatures = saved
    signature = signatures["measure"]
    values = np.arange(2 * len(texts), dtype="int32").reshape(-1, 2)
    return (
        {
            signature.inputs["text"].name: texts,
            signature.inputs["x"].name: values,
        },
        [signature.outputs[n].name for n in ("copy", "length", "product")],
    )


def check(texts, found):
    copy, length, product = found
    assert copy.tolist() == texts.tolist()
    assert length.tolist() == [len(text) for text in texts]
    expected = 2.0 * np.arange(2 * len(texts), dtype="float32").reshape(-1, 2)
    np.testing.assert_array_equal(product, expected)


def run_script(folder, calls, tmp_path, libraries):
    request, reply = tmp_path / "request.json", tmp_path / "reply.json"
    coded = [
        {
            "feeds": {n: fresh_process.encode(v) for n, v in feeds.items()},
            "fetches": fetches,
        }
        for feeds, fetches in calls
    ]
    content = {"folder": str(folder), "libraries": libraries, "calls": coded}
    request.write_text(json.dumps(content))
    script = Path(fresh_process.__file__)
    run = subprocess.run(
        [sys.executable, "-P", script, request, reply],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        return run.stderr
    return [
        [fresh_process.decode(value) for value in values]
        for values in json.loads(reply.read_text())
    ]


needs_libraries = pytest.mark.skipif(
    server_libraries() is None, reason="this TensorFlow has no C++ libraries"
)


@needs_libraries
def test_the_server_s_session_answers(saved, tmp_path):
    none = np.zeros(0, object)
    calls = [call(saved, TEXTS), call(saved, none)]

    found = run_script(saved[0], calls, tmp_path, server_libraries())

    check(TEXTS, found[0])
    check(none, found[1])


@needs_libraries
def test_xla_is_off_as_in_the_server(saved, tmp_path):
    signature = saved[1]["compiled"]
    feeds = {signature.inputs["x"].name: np.ones(1, "float32")}
    calls = [(feeds, [signature.outputs["y"].name])]

    found = run_script(saved[0], calls, tmp_path, server_libraries())

    assert "XLA compilation disabled" in found


def test_python_s_session_answers_alike(saved):
    session = fresh_process.PythonSession(str(saved[0]))

    check(TEXTS, session.run(*call(saved, TEXTS)))


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, 1 / 3], [1e-30, 0.7]], "float32"),
        np.array([[2**31 - 1, -5]], "int32"),
        np.array([[b"\xff\x00", b""]], object),
        np.zeros((0, 3), "float32"),
        np.zeros(0, object),
    ],
    ids=str,
)
def test_arrays_survive_the_journey(array):
    coded = json.loads(json.dumps(fresh_process.encode(array)))

    decoded = fresh_process.decode(coded)

    assert decoded.dtype == array.dtype
    np.testing.assert_array_equal(decoded, array)


def test_nothing_of_ours_is_imported():
    source = Path(fresh_process.__file__).read_text()

    assert "import keras" not in source
    assert "from keras" not in source
