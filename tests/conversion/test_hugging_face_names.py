"""Spellings of Hugging Face's names in files of all ages."""

import pytest

from keras_albert.conversion.hugging_face_names import HEADS
from keras_albert.conversion.hugging_face_names import HEADS_OF_TASK
from keras_albert.conversion.hugging_face_names import TASKS
from keras_albert.conversion.hugging_face_names import head_of
from keras_albert.conversion.hugging_face_names import usual_names

LAYER = "encoder.albert_layer_groups.{}.albert_layers.0.ffn.bias"


def test_the_bare_model_gets_its_prefix():
    names = ["embeddings.LayerNorm.weight", LAYER.format(0)]
    assert usual_names(names, [0]) == {f"albert.{n}": n for n in names}


def test_heads_have_none():
    names = ["albert.pooler.bias", "predictions.bias", "classifier.bias"]
    assert usual_names(names, [0]) == {n: n for n in names}


@pytest.mark.parametrize(
    ("old", "new"), [("gamma", "weight"), ("beta", "bias")]
)
def test_older_norms(old, new):
    name = f"albert.embeddings.LayerNorm.{old}"
    assert usual_names([name], [0]) == {
        f"albert.embeddings.LayerNorm.{new}": name
    }


def test_groups_are_numbered_as_they_are_called():
    names = [f"albert.{LAYER.format(g)}" for g in range(4)]

    usual = usual_names(names, [0, 3])

    assert usual[f"albert.{LAYER.format(1)}"] == names[3]
    assert usual[f"albert.{LAYER.format('unused2')}"] == names[2]


def test_either_name_of_a_tied_tensor_will_do():
    both = [
        "albert.pooler.bias",
        "predictions.bias",
        "predictions.decoder.bias",
    ]
    assert usual_names(both, [0]) == {n: n for n in both}
    one = ["albert.pooler.bias", "predictions.decoder.bias"]
    assert usual_names(one, [0])["predictions.bias"] == one[1]


def test_every_class_has_a_task_and_every_head_a_name():
    assert set(TASKS.values()) == set(HEADS_OF_TASK)
    assert {h for heads in HEADS_OF_TASK.values() for h in heads} <= set(HEADS)
    assert head_of("qa_outputs.bias") == "qa_outputs"
    assert head_of("albert.pooler.bias") is None
