"""Checkpoints with Google's names, as TensorFlow reads them."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.conversion import google_writing
from keras_albert.conversion.google_writing import write_google
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from keras_albert.conversion.source import load as load_source
from tests.conversion.checkpoints import read_checkpoint
from tests.conversion.test_google import opened
from tests.models.tiny_models import tiny_pretrainer


def converted_of(model):
    return Converted(model, None, ConversionReport(), {}, "preset")


def test_what_google_has_not_is_refused(tmp_path):
    for overrides, message in (
        ({"sharing": "none"}, "share whole layers"),
        ({"activation": "silu"}, "'silu' has no name there"),
        ({"layer_norm_epsilon": 1e-6}, "fixed normalisation epsilon"),
    ):
        converted = converted_of(tiny_pretrainer(**overrides))
        with pytest.raises(ValueError, match=message):
            write_google(converted, tmp_path)


def test_parts_of_a_checkpoint_are_joined(golden, tmp_path, monkeypatch):
    monkeypatch.setattr(google_writing, "PART_BYTES", 5000)
    original = golden / "google_tf1" / "tiny_groups"
    write_google(load_source(opened(original)), tmp_path)

    assert len(list(tmp_path.glob("model.ckpt.data-*"))) > 3
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt")
    after = read_checkpoint(tmp_path)
    for name, value in read_checkpoint(original).items():
        np.testing.assert_array_equal(after[name], value)
    assert not list(tmp_path.glob("*temp*"))
