"""Models of ours that `transformers` loads."""

import numpy as np
import pytest

from keras_albert.conversion.hugging_face_writing import write_hugging_face
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from tests.checks import to_numpy

torch = pytest.importorskip("torch", reason="needs torch to run their model")
transformers = pytest.importorskip("transformers", reason="the other side")

from tests.conversion.their_models import run_theirs  # noqa: E402
from tests.models.tiny_models import backbone_inputs  # noqa: E402
from tests.models.tiny_models import tiny_pretrainer  # noqa: E402


def converted_of(model):
    return Converted(model, None, ConversionReport(), {}, "preset")


@pytest.mark.every_backend
def test_a_model_of_ours_without_projection_gets_the_identity(tmp_path):
    ours = tiny_pretrainer(embedding_dim=8, hidden_dim=8)
    converted = converted_of(ours)
    write_hugging_face(converted, tmp_path)

    theirs = transformers.AlbertForPreTraining.from_pretrained(tmp_path)
    inputs = backbone_inputs()
    outputs = to_numpy(ours.backbone(inputs))["sequence_output"]
    real = inputs["padding_mask"].astype(bool)
    hidden = run_theirs(theirs.eval(), inputs)["hidden"]
    np.testing.assert_allclose(hidden[real], outputs[real], rtol=0, atol=1e-5)
