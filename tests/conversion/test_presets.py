"""What a conversion leaves beside a preset, and when it counts."""

import json

import numpy as np
import pytest

from keras_albert.conversion.presets import KEPT
from keras_albert.conversion.presets import PROVENANCE
from keras_albert.conversion.presets import read_preset
from keras_albert.conversion.presets import write_preset
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from tests.checks import max_difference
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone


@pytest.fixture
def converted():
    head = {"qa_outputs.weight": np.ones((2, 8), "float32")}
    return Converted(
        model=tiny_backbone(),
        tokenizer=None,
        report=ConversionReport(
            loaded={"a": "b"},
            kept={"qa_outputs.weight": "no model"},
            new=["pooler/kernel", "pooler/bias"],
        ),
        kept=head,
        kind="hugging_face",
        architecture="AlbertForQuestionAnswering",
        settings={"id2label": {"0": "x"}},
    )


def test_everything_comes_back(tmp_path, converted):
    write_preset(converted, tmp_path)

    again = read_preset(tmp_path)

    assert again.kind == "hugging_face"
    assert again.architecture == "AlbertForQuestionAnswering"
    assert again.settings == converted.settings
    assert again.added_here("hugging_face") == ["pooler/kernel", "pooler/bias"]
    assert again.added_here("google") == []
    kept = again.kept_from("hugging_face")
    np.testing.assert_array_equal(kept["qa_outputs.weight"], 1)
    assert again.kept_from("google") == {}
    inputs = backbone_inputs()
    assert max_difference(again.model(inputs), converted.model(inputs)) == 0
    assert json.loads((tmp_path / PROVENANCE).read_text())["report"]


def test_a_model_trained_since_is_its_own(tmp_path, converted):
    write_preset(converted, tmp_path)
    model = read_preset(tmp_path).model
    model.pooler.bias.assign(model.pooler.bias.value + 1)
    model.save_to_preset(str(tmp_path))

    again = read_preset(tmp_path)

    assert (tmp_path / KEPT).exists()
    assert again.kind == "preset"
    assert again.kept == {}
    assert again.report.new == []


def test_a_preset_of_ours_needs_no_record(tmp_path):
    tiny_backbone().save_to_preset(str(tmp_path))

    again = read_preset(tmp_path)

    assert again.kind == "preset"
    assert len(again.report.loaded) == len(again.model.weights)


def test_a_preset_cut_off_is_refused(tmp_path, converted):
    write_preset(converted, tmp_path)
    file = tmp_path / "model.weights.h5"
    file.write_bytes(file.read_bytes()[:3000])

    with pytest.raises(ValueError, match="damaged or cut off"):
        read_preset(tmp_path)
