"""What the mixin of all tasks puts right."""

import keras
import numpy as np
import pytest

from keras_albert.models import AlbertTextClassifier
from keras_albert.models import load_model
from tests.checks import to_numpy
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier
from tests.models.tiny_models import BATCH
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone
from tests.models.tiny_models import tiny_pretrainer

pytestmark = pytest.mark.every_backend


def test_optimizer_is_back_after_a_failed_save(tmp_path):
    pretrainer = tiny_pretrainer()
    optimizer = pretrainer.optimizer
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OSError, match="file"):
        pretrainer.save_to_preset(str(tmp_path / "file"))

    assert pretrainer.optimizer is optimizer


def test_a_file_of_a_model_never_trained_loads_without_warning(
    tmp_path, recwarn
):
    tiny_pretrainer().save(tmp_path / "p.keras")

    reloaded = load_model(tmp_path / "p.keras")

    assert reloaded.compiled
    assert not [w for w in recwarn if "optimizer" in str(w.message)]


def test_a_file_saved_where_jit_is_on_leaves_it_to_this_backend(tmp_path):
    pretrainer = tiny_pretrainer()
    pretrainer.compile(jit_compile=True)
    pretrainer.save(tmp_path / "p.keras")

    reloaded = load_model(tmp_path / "p.keras")

    assert reloaded.jit_compile == tiny_pretrainer().jit_compile


def test_tensorflow_traces_a_step_once(monkeypatch):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow alone traces a step that makes variables twice")
    classifier = AlbertTextClassifier(tiny_backbone(), 3, dropout=0.0)
    classifier.compile(keras.optimizers.SGD(0.0))
    inputs = backbone_inputs()
    labels = np.arange(BATCH) % 3
    right = np.mean(np.argmax(classifier.predict(inputs), axis=-1) == labels)
    traced = []
    for name in ("train_step", "test_step"):
        step = getattr(classifier, name)
        monkeypatch.setattr(
            classifier,
            name,
            lambda *data, n=name, step=step: traced.append(n) or step(*data),
        )

    evaluated = classifier.evaluate(inputs, labels, verbose=0)
    assert not classifier.optimizer.built
    trained = classifier.fit(inputs, labels, verbose=0).history

    assert traced == ["test_step", "train_step"]
    # What the metrics were built with is not counted.
    assert evaluated[1] == trained["accuracy"][0] == pytest.approx(right)


def test_a_compiled_model_can_be_cloned():
    classifier = AlbertTextClassifier(tiny_backbone(), 3)
    classifier.compile()

    clone = keras.models.clone_model(classifier)

    clone.set_weights(classifier.get_weights())
    inputs = backbone_inputs()
    np.testing.assert_array_equal(
        to_numpy(clone(inputs)), to_numpy(classifier(inputs))
    )
    assert type(clone.optimizer) is type(classifier.optimizer)


@pytest.mark.filterwarnings("ignore:.*`quantize` method:UserWarning")
@pytest.mark.parametrize("name", ["preset", "task.keras"])
def test_a_quantized_task_answers_the_same_when_loaded_again(tmp_path, name):
    task = tiny_classifier("sentence_piece", labels=["bad", "good"])
    exact = task.predict(TEXTS, verbose=0)

    task.quantize("int8")
    answers = task.predict(TEXTS, verbose=0)

    assert 0 < np.abs(answers - exact).max() < 0.02 * np.abs(exact).max()
    assert task.backbone.token_embedding.quantization_mode == "int8"
    save = task.save_to_preset if name == "preset" else task.save
    save(str(tmp_path / name))
    again = load_model(tmp_path / name).predict(TEXTS, verbose=0)
    assert np.abs(again - answers).max() == 0
