"""A checkpoint of objects whose variables have Model Garden's names.

The names are those of its own converter, `tf2_albert_encoder_checkpoint_
converter.py`; the library itself does not run on this TensorFlow.
"""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.conversion.google import google_source
from keras_albert.conversion.google import load_google_checkpoint
from keras_albert.conversion.source import load
from tests.checks import to_numpy
from tests.conversion.checkpoints import read_checkpoint

# Its converter's replacements, in its order.
REPLACEMENTS = [
    ("bert/encoder/", ""),
    ("bert/", ""),
    ("embeddings/word_embeddings", "word_embeddings/embeddings"),
    ("embeddings/position_embeddings", "position_embedding/embeddings"),
    ("embeddings/token_type_embeddings", "type_embeddings/embeddings"),
    ("embeddings/LayerNorm", "embeddings/layer_norm"),
    ("embedding_hidden_mapping_in", "embedding_projection"),
    ("group_0/inner_group_0/", ""),
    ("attention_1/self", "self_attention"),
    ("attention_1/output/dense", "self_attention/attention_output"),
    ("transformer/LayerNorm/", "transformer/self_attention_layer_norm/"),
    ("ffn_1/intermediate/dense", "intermediate"),
    ("ffn_1/intermediate/output/dense", "output"),
    ("transformer/LayerNorm_1/", "transformer/output_layer_norm/"),
    ("pooler/dense", "pooler_transform"),
    ("cls/predictions", "bert/cls/predictions"),
    ("cls/predictions/output_bias", "cls/predictions/output_bias/bias"),
]


def their_name(name):
    for old, new in REPLACEMENTS:
        name = name.replace(old, new)
    return name


def their_shape(name, array, heads=4):
    if "self_attention/attention_output/kernel" in name:
        return array.reshape(heads, -1, array.shape[1])
    if "self_attention/attention_output" in name:
        return array
    if "self_attention/" in name and name.endswith("kernel"):
        return array.reshape(array.shape[0], heads, -1)
    if "self_attention/" in name:
        return array.reshape(heads, -1)
    return array


class Holder(tf.Module):
    """Variables hanging somewhere, as an encoder's layers do."""

    def __init__(self, arrays):
        super().__init__()
        for number, (name, array) in enumerate(arrays.items()):
            name = their_name(name)
            array = their_shape(name, array)
            layer = tf.Module()
            layer.w = tf.Variable(array, name=name)
            setattr(self, f"layer_{number}", layer)


@pytest.fixture
def folder(golden, tmp_path):
    original = golden / "google_tf1" / "tiny_all"
    name = "albert_config.json"
    shutil.copyfile(original / name, tmp_path / name)
    arrays = {
        name: array
        for name, array in read_checkpoint(original).items()
        if "seq_relationship" not in name
    }
    model = Holder(arrays)
    checkpoint = tf.train.Checkpoint(encoder=model)
    checkpoint.write(str(tmp_path / "albert_model.ckpt"))
    return tmp_path


def opened(folder):
    return google_source(
        folder / "albert_model.ckpt", folder / "albert_config.json"
    )


@pytest.mark.every_backend
def test_it_equals_the_checkpoint_it_was_made_from(golden, folder):
    original = golden / "google_tf1" / "tiny_all"
    reference = dict(np.load(original / "reference.npz"))
    inputs = {
        name: reference[name]
        for name in (
            "token_ids",
            "segment_ids",
            "padding_mask",
            "mask_positions",
        )
    }

    converted = load(opened(folder))

    expected = load_google_checkpoint(original)(inputs)["masked_lm"]
    np.testing.assert_allclose(
        to_numpy(converted.model(inputs)["masked_lm"]),
        to_numpy(expected),
        rtol=0,
        atol=1e-6,
    )
    assert converted.report.new_heads == ["sentence_order"]


def test_every_key_is_used_or_skipped(folder):
    source = opened(folder)
    report = load(source).report

    assert source.kind == "model_garden"
    names = tf.train.load_checkpoint(str(folder / "albert_model.ckpt"))
    assert {*report.loaded, *report.skipped} == set(
        names.get_variable_to_shape_map()
    )


def test_more_groups_than_it_can_hold_is_an_error(folder):
    file = folder / "albert_config.json"
    config = {**json.loads(file.read_text()), "num_hidden_groups": 5}
    file.write_text(json.dumps(config))

    with pytest.raises(ValueError, match="one layer for all calls"):
        load(opened(folder))
