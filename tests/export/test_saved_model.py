"""From a trained model on any backend to a numbered, verified folder."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import child_process
from keras_albert.export import saved_model
from keras_albert.export.prediction import predict_saved_model
from keras_albert.export.saved_graph import folder_size
from keras_albert.export.saved_model import export_model
from keras_albert.export.saved_model import export_saved_model
from tests.export.served_answers import answers
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_tokenizer

BAD_TEXT = b"\xff\xfeodd \xc3("


@pytest.fixture
def written(monkeypatch):
    """Replaces the slow writing; lists the folders that were written to."""
    folders = []

    def write(model, preprocessor, folder, dtype):
        folders.append(folder)
        (folder / "saved_model.pb").write_bytes(b"written")

    monkeypatch.setattr(saved_model, "_write", write)
    return folders


@pytest.fixture
def model():
    return tiny_classifier("word_piece", num_classes=2)


@pytest.mark.every_backend
def test_fine_tuned_model_answers_alike_in_a_fresh_process(tmp_path):
    """From any backend; WordPiece vocabularies are tested elsewhere."""
    model = tiny_classifier("sentence_piece", labels=["bad", "good"])
    model.fit(TEXTS, [1, 0, 1], batch_size=3, verbose=0)
    model.backbone.encoder.active_layers = 1
    texts = [*TEXTS, "", BAD_TEXT]
    decoded = [*TEXTS, "", BAD_TEXT.decode("utf-8", "replace")]
    logits = model.predict(decoded, verbose=0)

    folder = export_saved_model(model, tmp_path / "reviews", verify=False)

    labels, probabilities = predict_saved_model(folder, texts)
    np.testing.assert_allclose(probabilities, softmax(logits), atol=1e-5)
    assert labels == [["bad", "good"][i] for i in logits.argmax(-1)]
    assert folder == tmp_path / "reviews" / "1"
    assert os.listdir(tmp_path / "reviews") == ["1"]


def test_from_a_preset_or_a_file(model, tmp_path):
    model.save_to_preset(str(tmp_path / "preset"))
    model.save(tmp_path / "model.keras")
    expected = softmax(model.predict(TEXTS, verbose=0))
    output = tmp_path / "out"

    export_saved_model(str(tmp_path / "preset"), output, verify=False)
    export_saved_model(tmp_path / "model.keras", output, verify=False)

    for version in "12":
        found = answers(output / version, text=TEXTS)["probabilities"]
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["sentence_piece", "word_piece", "pretrainer"])
def test_what_an_export_tells(made_exports, kind):
    _, made = made_exports(kind)

    assert made.path.name == "1"
    assert "serving_default" in made.signatures
    assert made.differences.largest < 1e-4
    assert made.differences.changed_labels == 0


def test_stages_are_reported(model, written, tmp_path):
    stages = []

    export_model(model, tmp_path, verify=False, report=stages.append)

    assert len(stages) == 2
    assert "Opening" in stages[0]
    assert "writing" in stages[1]


def test_half_precision_layers_are_exported_as_they_are_stored(tmp_path):
    """Weights in float32 answer in float32, to the usual tolerance."""
    model = tiny_classifier("word_piece", num_classes=2, dtype="mixed_bfloat16")

    made = export_model(model, tmp_path / "reviews")

    assert made.differences.largest < 1e-4


def test_bfloat16_halves_the_weights(tmp_path, exports):
    model, folder = exports("word_piece")

    made = export_model(model, tmp_path / "reviews", dtype="bfloat16")

    encoder = model.backbone.count_params()
    saved = folder_size(folder / "variables")
    assert saved - folder_size(made.path / "variables") >= 2 * encoder - 200
    probabilities = answers(made.path, text=TEXTS)["probabilities"]
    assert probabilities.dtype == np.float32
    expected = softmax(model.predict(TEXTS, verbose=0))
    np.testing.assert_allclose(probabilities, expected, atol=0.1)
    assert made.differences.num_labels > 20
    assert 1e-5 < made.differences.mean < 0.05


def test_copied_and_saved_again_it_still_answers(exports, tmp_path):
    _, folder = exports("sentence_piece")
    expected = answers(folder, text=TEXTS)["probabilities"]
    copied = shutil.copytree(folder, tmp_path / "copy")

    loaded = tf.saved_model.load(str(copied))
    again = tmp_path / "again"
    tf.saved_model.save(loaded, str(again), signatures=dict(loaded.signatures))
    del loaded
    shutil.rmtree(copied)

    found = answers(again, text=TEXTS)["probabilities"]
    np.testing.assert_array_equal(found, expected)


def test_a_failed_check_leaves_nothing(model, written, tmp_path, monkeypatch):
    def fail(*args):
        raise ValueError("no good")

    monkeypatch.setattr(saved_model, "_verify", fail)
    (tmp_path / "old" / "1").mkdir(parents=True)

    for name in ("new", "old"):
        with pytest.raises(ValueError, match="no good"):
            export_saved_model(model, tmp_path / name)

    assert os.listdir(tmp_path) == ["old"]
    assert os.listdir(tmp_path / "old") == ["1"]
    assert len(written) == 2


def test_bad_input_is_told_before_work_is_done(model, written, tmp_path):
    (tmp_path / "3").mkdir()

    with pytest.raises(ValueError, match="Version 3 exists"):
        export_saved_model(model, tmp_path, version=3)
    with pytest.raises(ValueError, match="dtype='float16'"):
        export_saved_model(model, tmp_path, dtype="float16")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        export_saved_model(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(TypeError, match="Received: int"):
        export_saved_model(3, tmp_path / "out")

    assert os.listdir(tmp_path) == ["3"]
    assert not written


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends_write_in_a_tensorflow_process(
    model, tmp_path, monkeypatch, backend
):
    """What the sub-process is given, without the time that it takes."""
    runs = []

    def run(command, env, **options):
        runs.append((command, env["KERAS_BACKEND"], os.listdir(command[3])))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(child_process.subprocess, "run", run)
    monkeypatch.setattr(saved_model.keras.config, "backend", lambda: backend)

    saved_model._write(model, model.preprocessor, tmp_path, "bfloat16")

    ((command, process_backend, preset),) = runs
    assert process_backend == "tensorflow"
    assert command[1:3] == ["-m", "keras_albert.export.served_model"]
    assert command[4] == str(tmp_path)
    assert json.loads(command[5]) == {"dtype": "bfloat16", "active_layers": 2}
    assert {"config.json", "task.json", "preprocessor.json"} <= set(preset)


def test_failure_of_that_process_is_told(model, tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess(
        [], 1, "", "Traceback\n  File\nValueError: no such layer\n"
    )
    monkeypatch.setattr(
        child_process.subprocess, "run", lambda *args, **options: failed
    )
    monkeypatch.setattr(saved_model.keras.config, "backend", lambda: "torch")

    message = "under the TensorFlow backend: ValueError: no such layer"
    with pytest.raises(ValueError, match=re.escape(message)):
        saved_model._write(model, model.preprocessor, tmp_path, "float32")


def test_sizes_that_the_check_goes_by(model):
    encoder = model.backbone.count_params()
    head = model.count_params() - encoder
    pieces = "\n".join(tiny_tokenizer("word_piece").get_vocabulary())

    assert saved_model._weight_bytes(model, "float32") == 4 * (encoder + head)
    half = saved_model._weight_bytes(model, "bfloat16")
    assert half == 2 * encoder + 4 * head
    stored = saved_model._tokenizer_bytes(model.preprocessor.tokenizer)
    assert 0 <= stored - len(pieces.encode()) <= 2
