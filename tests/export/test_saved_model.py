"""From a trained model on any backend to a numbered, verified folder."""

import os
import re
import subprocess

import keras
import numpy as np
import pytest

from keras_albert.export import saved_model
from keras_albert.export.saved_model import export_saved_model
from keras_albert.export.verification import predict_saved_model
from tests.export.served_answers import answers
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_tokenizer

BAD_TEXT = b"\xff\xfeodd \xc3("


@pytest.fixture
def written(monkeypatch):
    """Replaces the slow writing; lists the folders that were written to."""
    folders = []

    def write(model, folder):
        folders.append(folder)
        (folder / "saved_model.pb").write_bytes(b"written")

    monkeypatch.setattr(saved_model, "_write", write)
    return folders


@pytest.fixture
def model():
    return tiny_classifier("word_piece", num_classes=2)


@pytest.mark.every_backend
@pytest.mark.parametrize("kind", ["sentence_piece", "word_piece"])
def test_fine_tuned_model_answers_alike_in_a_fresh_process(kind, tmp_path):
    model = tiny_classifier(kind, labels=["bad", "good"])
    model.fit(TEXTS, [1, 0, 1], batch_size=3, verbose=0)
    texts = [*TEXTS, "", BAD_TEXT]
    decoded = [*TEXTS, "", BAD_TEXT.decode("utf-8", "replace")]
    logits = model.predict(decoded, verbose=0)
    exponents = np.exp(np.asarray(logits, "float64"))
    expected = exponents / exponents.sum(-1, keepdims=True)

    folder = export_saved_model(model, tmp_path / "reviews", verify=False)

    labels, probabilities = predict_saved_model(folder, texts)
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    assert labels == [["bad", "good"][i] for i in logits.argmax(-1)]
    assert folder == tmp_path / "reviews" / "1"
    assert os.listdir(tmp_path / "reviews") == ["1"]


def test_from_a_preset_or_a_file(model, tmp_path):
    model.save_to_preset(str(tmp_path / "preset"))
    model.save(tmp_path / "model.keras")
    logits = model.predict(TEXTS, verbose=0)
    output = tmp_path / "out"

    export_saved_model(str(tmp_path / "preset"), output, verify=False)
    export_saved_model(tmp_path / "model.keras", output, verify=False)

    for version in "12":
        found = answers(output / version, text=TEXTS)["probabilities"]
        np.testing.assert_allclose(
            np.log(found[:, 0] / found[:, 1]),
            logits[:, 0] - logits[:, 1],
            atol=1e-4,
        )


def test_pairs_in_a_fresh_process(exports):
    model, folder = exports("sentence_piece")
    logits = model.predict((TEXTS, TEXTS[::-1]), verbose=0)

    labels, _ = predict_saved_model(folder, TEXTS, TEXTS[::-1])

    assert labels == [model.labels[i] for i in logits.argmax(-1)]


def test_half_precision_layers_answer_in_float32(tmp_path):
    model = tiny_classifier("word_piece", num_classes=2, dtype="mixed_bfloat16")

    folder = export_saved_model(model, tmp_path / "reviews")

    probabilities = answers(folder, text=TEXTS)["probabilities"]
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(-1), 1, atol=1e-6)


def test_versions_count_up(model, written, tmp_path):
    for name in ("7", "00000011", "v12", ".unfinished-0"):
        (tmp_path / name).mkdir()
    (tmp_path / "7" / "file").touch()

    folders = [
        export_saved_model(model, tmp_path, verify=False) for _ in range(2)
    ]
    chosen = export_saved_model(model, tmp_path, version=8, verify=False)

    assert [f.name for f in [*folders, chosen]] == ["12", "13", "8"]
    assert (tmp_path / "7" / "file").exists()
    assert all(f.parent == tmp_path for f in written)
    assert not any(f.name.isdecimal() or f.exists() for f in written)


def test_a_server_may_read_the_folder(model, written, tmp_path):
    folder = export_saved_model(model, tmp_path / "out", verify=False)

    assert folder.stat().st_mode & 0o777 == 0o755


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


def test_a_version_that_appears_meanwhile_is_kept(
    model, written, tmp_path, monkeypatch
):
    def another_export(*args):
        (tmp_path / "1").mkdir()

    monkeypatch.setattr(saved_model, "_verify", another_export)

    with pytest.raises(ValueError, match="Version 1 exists"):
        export_saved_model(model, tmp_path)
    assert os.listdir(tmp_path) == ["1"]


@pytest.mark.parametrize(
    "version, error, message",
    [
        ("1", TypeError, "must be an integer.*version='1'"),
        (1.0, TypeError, "must be an integer.*version=1.0"),
        (True, TypeError, "must be an integer"),
        (-1, ValueError, "not be negative"),
        (3, ValueError, "Version 3 exists .* next free one, 4"),
    ],
)
def test_bad_version(model, written, tmp_path, version, error, message):
    (tmp_path / "3").mkdir()

    with pytest.raises(error, match=message):
        export_saved_model(model, tmp_path, version=version)
    assert not written


def test_output_that_is_a_file(model, written, tmp_path):
    (tmp_path / "out").write_text("mine")

    with pytest.raises(ValueError, match="must be a folder, but .*out is a fi"):
        export_saved_model(model, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_preset_that_is_missing(written, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        export_saved_model(tmp_path / "nowhere", tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_model_without_preprocessor(model, written, tmp_path):
    model.preprocessor = None

    with pytest.raises(ValueError, match="no preprocessor, so it takes token"):
        export_saved_model(model, tmp_path / "out")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("what", ["backbone", "keras", "number"])
def test_model_of_another_kind(model, written, tmp_path, what):
    other = {
        "backbone": model.backbone,
        "keras": keras.Sequential(),
        "number": 3,
    }[what]

    with pytest.raises(TypeError, match=f"Received: {type(other).__name__}"):
        export_saved_model(other, tmp_path / "out")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends_write_in_a_tensorflow_process(
    model, tmp_path, monkeypatch, backend
):
    """What the sub-process is given, without the time that it takes."""
    runs = []

    def run(command, env, **options):
        runs.append((command, env["KERAS_BACKEND"], os.listdir(command[3])))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(saved_model.subprocess, "run", run)
    monkeypatch.setattr(saved_model.keras.config, "backend", lambda: backend)

    saved_model._write(model, tmp_path)

    ((command, process_backend, preset),) = runs
    assert process_backend == "tensorflow"
    assert command[1:3] == ["-m", "keras_albert.export.served_model"]
    assert command[4:] == [str(tmp_path), "float32"]
    assert {"config.json", "task.json", "model.weights.h5"} <= set(preset)


def test_failure_of_that_process_is_told(model, tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess(
        [], 1, "", "Traceback\n  File\nValueError: no such layer\n"
    )
    monkeypatch.setattr(
        saved_model.subprocess, "run", lambda *args, **options: failed
    )
    monkeypatch.setattr(saved_model.keras.config, "backend", lambda: "torch")

    message = "under the TensorFlow backend: ValueError: no such layer"
    with pytest.raises(ValueError, match=re.escape(message)):
        saved_model._write(model, tmp_path)


def test_sizes_that_the_check_goes_by(model):
    number_of_weights = model.count_params()
    half = tiny_classifier("word_piece", num_classes=2, dtype="bfloat16")
    pieces = "\n".join(tiny_tokenizer("word_piece").get_vocabulary())

    assert saved_model._weight_bytes(model) == 4 * number_of_weights
    assert saved_model._weight_bytes(half) < 2.5 * number_of_weights
    stored = saved_model._tokenizer_bytes(model.preprocessor.tokenizer)
    assert 0 <= stored - len(pieces.encode()) <= 2
