"""keras-hub's own classes on the other side, both ways."""

import json

import keras_hub
import numpy as np
import pytest

from keras_albert.conversion.keras_hub import HEAD_EPSILON
from keras_albert.conversion.keras_hub import keras_hub_source
from keras_albert.conversion.keras_hub_writing import write_keras_hub
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from keras_albert.conversion.source import load
from keras_albert.models import AlbertPretrainer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import pretraining_batch
from tests.tokenizers.conftest import tiny_proto  # noqa: F401

GROUPS = {"num_layers": 4, "num_groups": 2, "num_inner_repetitions": 2}
models = keras_hub.models


def their_backbone(**overrides):
    backbone = models.AlbertBackbone(
        **{
            "vocabulary_size": 13,
            "num_layers": 3,
            "num_heads": 2,
            "embedding_dim": 5,
            "hidden_dim": 8,
            "intermediate_dim": 11,
            "max_sequence_length": 9,
            **overrides,
        }
    )
    randomize(backbone)
    return backbone


def converted_of(model, tokenizer=None):
    return Converted(model, tokenizer, ConversionReport(), {}, "preset")


def close(a, b, atol=1e-6):
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=0, atol=atol)


@pytest.mark.every_backend
@pytest.mark.parametrize("groups", [{}, GROUPS, {"embedding_dim": 8}])
def test_a_backbone_comes_in_and_goes_out(tmp_path, groups):
    theirs = their_backbone(dropout=0.2, **groups)
    theirs.save_to_preset(str(tmp_path / "theirs"))

    converted = load(keras_hub_source(tmp_path / "theirs"))
    (tmp_path / "ours").mkdir()
    write_keras_hub(converted, tmp_path / "ours")
    again = models.AlbertBackbone.from_preset(str(tmp_path / "ours"))

    ours, inputs = converted.model, backbone_inputs()
    assert (ours.hidden_dropout, ours.attention_dropout) == (0.2, 0.2)
    assert ours.count_params() == theirs.count_params()
    assert len(converted.report.loaded) == len(theirs.weights)
    for key in ("sequence_output", "pooled_output"):
        close(ours(inputs)[key], theirs(inputs)[key])
        close(again(inputs)[key], theirs(inputs)[key], atol=0)


@pytest.mark.every_backend
def test_a_classifier_comes_in_and_goes_out(tmp_path):
    theirs = models.AlbertTextClassifier(
        their_backbone(), num_classes=3, dropout=0.25, preprocessor=None
    )
    randomize(theirs)
    theirs.save_to_preset(str(tmp_path / "theirs"))

    source = keras_hub_source(tmp_path / "theirs")
    converted = load(source)
    with pytest.raises(ValueError, match="Open the preset again"):
        load(source)
    (tmp_path / "ours").mkdir()
    write_keras_hub(converted, tmp_path / "ours")
    again = models.AlbertTextClassifier.from_preset(
        str(tmp_path / "ours"), preprocessor=None
    )

    inputs = backbone_inputs()
    assert converted.model.dropout == again.dropout == 0.25
    close(converted.model(inputs), theirs(inputs))
    close(again(inputs), theirs(inputs))


@pytest.mark.every_backend
def test_a_masked_language_model_comes_in_and_goes_out(tmp_path):
    theirs = models.AlbertMaskedLM(their_backbone(), preprocessor=None)
    randomize(theirs)
    theirs.save_to_preset(str(tmp_path / "theirs"))

    converted = load(keras_hub_source(tmp_path / "theirs"))

    assert isinstance(converted.model, AlbertPretrainer)
    assert converted.report.new_heads == ["sentence_order"]
    ours = converted.model
    assert ours.layer_norm_epsilon == HEAD_EPSILON
    assert theirs.masked_lm_head.layer_norm_epsilon == HEAD_EPSILON
    inputs, _, _ = pretraining_batch()
    close(ours(inputs)["masked_lm"], theirs(inputs))
    ours.save_to_preset(str(tmp_path / "preset"))
    saved = AlbertPretrainer.from_preset(str(tmp_path / "preset"))
    close(saved(inputs)["masked_lm"], theirs(inputs))
    (tmp_path / "ours").mkdir()
    write_keras_hub(converted, tmp_path / "ours")
    again = models.AlbertMaskedLM.from_preset(
        str(tmp_path / "ours"), preprocessor=None
    )
    close(again(inputs), theirs(inputs), atol=0)


def test_other_models_and_damaged_presets_are_refused(tmp_path):
    their_backbone().save_to_preset(str(tmp_path))
    weights = tmp_path / "model.weights.h5"
    content = weights.read_bytes()
    weights.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="damaged or cut off"):
        keras_hub_source(tmp_path)

    config = json.loads((tmp_path / "config.json").read_text())
    config["registered_name"] = "keras_hub>BertBackbone"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="BertBackbone"):
        keras_hub_source(tmp_path)


def test_weights_outside_the_preset_are_refused(tmp_path):
    their_backbone().save_to_preset(str(tmp_path))
    (tmp_path / "model.weights.h5").unlink()
    (tmp_path / "model.weights.json").write_text(
        json.dumps({"weight_map": {"a": ["../../elsewhere.h5"]}})
    )

    with pytest.raises(ValueError, match="outside its folder"):
        keras_hub_source(tmp_path)
