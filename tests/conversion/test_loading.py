"""`from_preset` and `load_model` on folders of other libraries."""

import warnings

import keras_hub
import numpy as np
import pytest

import keras_albert
from tests.checks import randomize
from tests.checks import to_numpy
from tests.conversion.test_hub import cache  # noqa: F401
from tests.conversion.test_keras_hub import their_backbone
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone

transformers = pytest.importorskip("transformers", reason="the other side")
torch = pytest.importorskip("torch", reason="runs their models")

from tests.conversion.their_models import batch  # noqa: E402
from tests.conversion.their_models import run_theirs  # noqa: E402
from tests.conversion.their_models import save_theirs  # noqa: E402


def close(a, b):
    np.testing.assert_allclose(to_numpy(a), b, rtol=0, atol=1e-5)


@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("AlbertModel", "AlbertBackbone"),
        ("AlbertForPreTraining", "AlbertPretrainer"),
        ("AlbertForSequenceClassification", "AlbertTextClassifier"),
    ],
)
def test_a_folder_of_hugging_face_gives_ours(tmp_path, name, cls):
    theirs = save_theirs(tmp_path, name)

    loaded = keras_albert.load_model(tmp_path)
    model = getattr(keras_albert, cls).from_preset(str(tmp_path))

    assert type(loaded).__name__ == type(model).__name__ == cls
    inputs = batch()
    real = inputs["padding_mask"].astype(bool)
    expected = run_theirs(theirs, inputs)
    for ours in (loaded, model):
        backbone = getattr(ours, "backbone", ours)
        hidden = to_numpy(backbone(inputs)["sequence_output"])
        close(hidden[real], expected["hidden"][real])
        if cls == "AlbertTextClassifier":
            close(ours(inputs), expected["logits"])


@pytest.mark.every_backend
def test_a_preset_of_keras_hub_gives_ours(tmp_path):
    theirs = their_backbone()
    theirs.save_to_preset(str(tmp_path))

    ours = keras_albert.AlbertBackbone.from_preset(str(tmp_path))

    assert isinstance(ours, keras_albert.AlbertBackbone)
    inputs = backbone_inputs()
    close(
        ours(inputs)["pooled_output"], to_numpy(theirs(inputs))["pooled_output"]
    )


def test_a_folder_of_googles_gives_ours(golden):
    folder = golden / "google_tf1" / "tiny_all"

    assert isinstance(
        keras_albert.load_model(folder), keras_albert.AlbertPretrainer
    )
    backbone = keras_albert.AlbertBackbone.from_preset(str(folder))
    assert backbone.num_layers == 5


def test_a_name_on_a_hub_gives_ours(cache, tmp_path):  # noqa: F811
    theirs = save_theirs(tmp_path / "theirs", "AlbertModel")
    name = cache(tmp_path / "theirs", "albert/albert-base-v2")

    for model in (
        keras_albert.load_model(name),
        keras_albert.AlbertBackbone.from_preset(name),
    ):
        hidden = to_numpy(model(batch())["sequence_output"])
        close(hidden[0], run_theirs(theirs, batch())["hidden"][0])


def test_a_preset_of_ours_on_a_hub(cache, tmp_path):  # noqa: F811
    ours = tiny_backbone()
    ours.save_to_preset(str(tmp_path / "ours"))
    name = cache(tmp_path / "ours", "someone/tiny")

    again = keras_albert.load_model(name)

    inputs = backbone_inputs()
    close(
        again(inputs)["pooled_output"], to_numpy(ours(inputs))["pooled_output"]
    )


def test_a_new_classifier_on_a_pretrained_encoder(tmp_path):
    save_theirs(tmp_path, "AlbertForPreTraining")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = keras_albert.AlbertTextClassifier.from_preset(
            str(tmp_path), num_classes=4, dropout=0.3, dtype="bfloat16"
        )

    assert (classifier.num_classes, classifier.dropout) == (4, 0.3)
    assert classifier.backbone.dtype_policy.name == "bfloat16"


def test_other_classes_than_the_sources_give_a_new_head(tmp_path):
    save_theirs(tmp_path, "AlbertForSequenceClassification", num_labels=2)

    classifier = keras_albert.AlbertTextClassifier.from_preset(
        str(tmp_path), labels=["a", "b", "c"]
    )

    assert classifier.num_classes == 3


def test_heads_that_came_without_weights_are_warned_of(tmp_path):
    save_theirs(tmp_path, "AlbertForMaskedLM")

    with pytest.warns(UserWarning, match="without pooler, sentence_order"):
        keras_albert.AlbertPretrainer.from_preset(str(tmp_path))


def test_the_architecture_without_weights(tmp_path):
    theirs = save_theirs(tmp_path, "AlbertModel")

    ours = keras_albert.AlbertBackbone.from_preset(
        str(tmp_path), load_weights=False, hidden_dropout=0.2
    )

    assert ours.hidden_dropout == 0.2
    table = theirs.embeddings.word_embeddings.weight.detach().numpy()
    assert np.abs(to_numpy(ours.token_embedding.embeddings) - table).max() > 0


@pytest.mark.every_backend
def test_presets_of_ours_load_as_before(tmp_path):
    ours = tiny_backbone()
    randomize(ours)
    ours.save_to_preset(str(tmp_path))

    for cls in (keras_albert.AlbertBackbone, keras_hub.models.Backbone):
        again = cls.from_preset(str(tmp_path), hidden_dropout=0.5)
        assert again.hidden_dropout == 0.5
        inputs = backbone_inputs()
        close(
            again(inputs)["pooled_output"],
            to_numpy(ours(inputs))["pooled_output"],
        )
