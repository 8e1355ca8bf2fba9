"""Calling signatures by name, in a process of its own."""

import subprocess

import numpy as np
import pytest

from keras_albert.export import child_process
from keras_albert.export import session_calls
from keras_albert.export.session_calls import call_signatures
from tests.export.served_answers import answers
from tests.export.tiny_classifiers import TEXTS

ROWS = np.array([text.encode() for text in TEXTS], object)


def test_named_tensors_in_and_out(exports):
    _, folder = exports("sentence_piece")
    pair = {"text_a": ROWS, "text_b": ROWS[::-1]}

    single, both = call_signatures(
        folder, [("serving_default", {"text": ROWS}), ("pair", pair)]
    )

    for found, texts in (
        (single, {"text": TEXTS}),
        (both, {"text_a": TEXTS, "text_b": TEXTS[::-1]}),
    ):
        expected = answers(folder, **texts)
        assert found["label"].tolist() == expected["label"].tolist()
        np.testing.assert_allclose(
            found["probabilities"], expected["probabilities"], atol=1e-6
        )


def test_only_libraries_of_the_oldest_server_are_loaded():
    libraries = session_calls.server_libraries()
    if libraries is None:
        pytest.skip("this TensorFlow has no C++ libraries")

    names = [path.rsplit("/", 1)[1] for path in libraries["text"]]

    assert "_sentencepiece_tokenizer.so" in names
    assert not {"_trimmer_ops.so", "_utf8_binarize_op.so"} & set(names)


def test_names_that_do_not_exist(exports):
    _, folder = exports("sentence_piece")

    with pytest.raises(ValueError, match="no signature 'x'. It has classify,"):
        call_signatures(folder, [("x", {})])
    with pytest.raises(ValueError, match="takes the inputs text. Received: y"):
        call_signatures(folder, [("embed", {"y": ROWS})])


def test_failure_is_told_in_one_line(exports, monkeypatch):
    _, folder = exports("sentence_piece")
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "stop\n")

    monkeypatch.setattr(child_process.subprocess, "run", run)

    with pytest.raises(ValueError, match="not run in a fresh process: stop$"):
        call_signatures(folder, [("embed", {"text": ROWS})])
    ((_, option, script, *_),) = commands
    assert option == "-P"  # else this package's modules could be imported
    assert script.endswith("fresh_process.py")
