"""One function opens every saved model, on every backend."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_albert.models import AlbertBackbone
from keras_albert.models import AlbertPretrainer
from keras_albert.models import load_model
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier

READ = """
import sys
import numpy as np
import keras_albert
folder, texts = sys.argv[1], sys.argv[2].split("|")
for name in ("model.keras", "preset"):
    model = keras_albert.load_model(f"{folder}/{name}")
    np.save(f"{folder}/{name}.npy", model.predict(texts, verbose=0))
"""


@pytest.mark.every_backend
def test_models_of_this_backend_answer_the_same_on_the_next(tmp_path):
    following = {"tensorflow": "jax", "jax": "torch", "torch": "tensorflow"}
    backend = following[keras.backend.backend()]
    classifier = tiny_classifier("sentence_piece", num_classes=3)
    classifier.save(tmp_path / "model.keras")
    classifier.save_to_preset(str(tmp_path / "preset"))

    subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path), "|".join(TEXTS)],
        env={**os.environ, "KERAS_BACKEND": backend},
        check=True,
    )

    expected = classifier.predict(TEXTS, verbose=0)
    for name in ("model.keras", "preset"):
        answers = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-5)


def test_what_is_not_a_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model at .*nowhere"):
        load_model(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("no model")
    with pytest.raises(ValueError, match="ending in .keras"):
        load_model(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="not a preset folder"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"class_name": "GPT2Backbone"}')
    with pytest.raises(ValueError, match="'GPT2Backbone', expected one of"):
        load_model(tmp_path)


@pytest.mark.parametrize("content", ["", '{"a":', "[]"])
@pytest.mark.parametrize("name", ["config.json", "task.json"])
def test_a_damaged_description_is_named(tmp_path, name, content):
    classifier = tiny_classifier("sentence_piece", num_classes=2)
    classifier.save_to_preset(str(tmp_path))
    (tmp_path / name).write_text(content)

    with pytest.raises(ValueError, match=f"{name} is not readable as JSON"):
        load_model(tmp_path)


def test_a_preset_without_its_heads_weights_is_refused(tmp_path):
    """Else the head would be random, without a word."""
    tiny_classifier("sentence_piece", num_classes=3).save_to_preset(
        str(tmp_path)
    )
    (tmp_path / "task.weights.h5").unlink()

    with pytest.raises(FileNotFoundError, match="task.weights.h5"):
        load_model(tmp_path)
    assert load_model(tmp_path, load_weights=False).num_classes == 3
    assert load_model(tmp_path, num_classes=4).num_classes == 4
    AlbertPretrainer.from_preset(str(tmp_path))


def test_other_classes_take_a_new_head_without_the_old_labels(tmp_path):
    classifier = tiny_classifier("sentence_piece", labels=["no", "yes"])
    classifier.save_to_preset(str(tmp_path))

    model = load_model(tmp_path, num_classes=4)

    assert (model.num_classes, model.labels) == (4, None)
    np.testing.assert_array_equal(
        model.backbone.get_weights()[0], classifier.backbone.get_weights()[0]
    )
    names = ["a", "b", "c"]
    assert load_model(tmp_path, num_classes=3, labels=names).labels == names


@pytest.mark.parametrize("name", ["model.weights.h5", "task.weights.h5"])
def test_weights_that_are_cut_off_are_named(tmp_path, name):
    tiny_classifier("sentence_piece", num_classes=3).save_to_preset(
        str(tmp_path)
    )
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])

    with pytest.raises(OSError, match=f"{name} is damaged or cut off"):
        load_model(tmp_path)
    (tmp_path / "model.weights.h5").write_bytes(b"")
    with pytest.raises(OSError, match="model.weights.h5 is damaged"):
        AlbertBackbone.from_preset(str(tmp_path))


def test_a_file_that_is_cut_off_is_named(tmp_path):
    path = tmp_path / "model.keras"
    tiny_classifier("sentence_piece", num_classes=3).save(path)
    path.write_bytes(path.read_bytes()[:-100])

    with pytest.raises(ValueError, match="model.keras is damaged or cut off"):
        load_model(path)


def test_labels_that_do_not_fit_the_head_say_what_would(tmp_path):
    tiny_classifier("sentence_piece", num_classes=2).save_to_preset(
        str(tmp_path)
    )

    with pytest.raises(ValueError, match="for 2 classes.*also num_classes=3"):
        load_model(tmp_path, labels=["a", "b", "c"])
    assert load_model(tmp_path, labels=["a", "b"]).labels == ["a", "b"]
