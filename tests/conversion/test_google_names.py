"""Names from other scopes, releases and training runs."""

import pytest

from keras_albert.conversion.google_names import skipped_variables
from keras_albert.conversion.google_names import spelled_as_google

TABLE = "bert/embeddings/word_embeddings"


def test_slots_are_known_by_the_variable_they_belong_to():
    names = [TABLE, f"{TABLE}/adam_m", f"{TABLE}/Adam_1", "other/adam_m"]

    assert skipped_variables([*names, "global_step", "beta1_power"]) == {
        f"{TABLE}/adam_m": "optimizer slot",
        f"{TABLE}/Adam_1": "optimizer slot",
        "global_step": "counter of a training run",
        "beta1_power": "counter of a training run",
    }


@pytest.mark.parametrize("scope", ["", "module/", "a/b/"])
@pytest.mark.parametrize("encoder", ["bert", "albert", "bert_1"])
def test_scopes_are_taken_off(scope, encoder):
    names = [
        f"{scope}{encoder}/embeddings/word_embeddings",
        f"{scope}{encoder}/pooler/dense/bias",
        f"{scope}cls/predictions/output_bias",
    ]

    assert spelled_as_google(names) == {
        TABLE: names[0],
        "bert/pooler/dense/bias": names[1],
        "cls/predictions/output_bias": names[2],
    }


def test_an_encoder_at_the_root_is_found():
    names = ["embeddings/word_embeddings", "pooler/dense/bias", "cls/x"]

    assert set(spelled_as_google(names)) == {
        TABLE,
        "bert/pooler/dense/bias",
        "cls/x",
    }


@pytest.mark.parametrize(
    "pair",
    [
        ("LayerNorm", "LayerNorm_1"),
        ("layer_normalization_9", "layer_normalization_10"),
        ("layer_norm", "layer_norm_1"),
        ("LayerNorm_4", "LayerNorm_5"),
    ],
)
def test_two_norms_of_a_layer_keep_their_order(pair):
    scope = "bert/encoder/transformer/group_0/inner_group_0"
    names = [TABLE, *(f"{scope}/{norm}/gamma" for norm in reversed(pair))]

    spelled = spelled_as_google(names)

    assert spelled[f"{scope}/LayerNorm/gamma"] == f"{scope}/{pair[0]}/gamma"
    assert spelled[f"{scope}/LayerNorm_1/gamma"] == f"{scope}/{pair[1]}/gamma"
    assert len(spelled) == 3


def test_one_norm_elsewhere_may_have_any_number():
    name = "bert/embeddings/layer_normalization_3/beta"
    spelled = spelled_as_google([TABLE, name])
    assert spelled["bert/embeddings/LayerNorm/beta"] == name


def test_no_encoder_is_an_error():
    with pytest.raises(ValueError, match="Found: none"):
        spelled_as_google(["dense/kernel"])
