"""Rules that both families of configurations share."""

import pytest

from keras_albert.conversion.configurations import arguments_of
from keras_albert.conversion.configurations import google_group
from keras_albert.conversion.configurations import hugging_face_group
from keras_albert.conversion.configurations import settle_groups
from keras_albert.conversion.configurations import their_config
from keras_albert.conversion.configurations import without_v2_dropout
from keras_albert.models.sizes import SIZES
from tests.models.tiny_models import tiny_backbone

ACTIVATIONS = {"gelu": "gelu_tanh", "gelu_again": "gelu_tanh"}


def test_there_and_back():
    backbone = tiny_backbone(
        num_groups=3, hidden_dropout=0.1, attention_dropout=0.2
    )

    config = their_config(backbone, ACTIVATIONS)

    assert config["hidden_act"] == "gelu"
    arguments = arguments_of(config, ACTIVATIONS, "the file")
    assert arguments.items() <= backbone.get_config().items()


@pytest.mark.parametrize("group_of", [google_group, hugging_face_group])
def test_groups_of_published_sizes_are_ours(group_of):
    for size in SIZES.values():
        arguments = {**size.arguments, "num_groups": 1}
        assert settle_groups(arguments, group_of) == (arguments, [0])
    arguments = {"num_layers": 12, "num_groups": 4}
    assert settle_groups(arguments, group_of) == (arguments, [0, 1, 2, 3])


def test_a_group_without_a_call_is_left_out():
    arguments, groups = settle_groups(
        {"num_layers": 4, "num_groups": 12}, google_group
    )
    assert arguments["num_groups"] == 4
    assert groups == [0, 3, 6, 9]


def test_rounding_that_moves_a_call_is_refused():
    """15 / 22 * 22 is 14.99… in floating point."""
    with pytest.raises(ValueError, match="22 layers in 22 groups"):
        settle_groups({"num_layers": 22, "num_groups": 22}, google_group)


@pytest.mark.parametrize(
    ("name", "is_v2"),
    [
        ("albert-base-v2", True),
        ("albert_large_v2", True),
        ("albert-base-v1", False),
        ("pv2x", False),
        ("ALBERT-xxlarge-V2/2", True),
    ],
)
def test_version_2_is_known_by_its_name(name, is_v2):
    rates = {"hidden_dropout": 0.1, "attention_dropout": 0.1}

    arguments, notes = without_v2_dropout(rates, ["", name])

    assert arguments == (dict.fromkeys(rates, 0.0) if is_v2 else rates)
    assert bool(notes) == is_v2


def test_nothing_is_said_where_nothing_changes():
    rates = {"hidden_dropout": 0, "attention_dropout": 0}
    assert without_v2_dropout(rates, ["base-v2"]) == (rates, [])


def test_a_number_of_layers_that_no_albert_has_is_refused():
    """Building them would take minutes, to find that nothing fits."""
    config = their_config(tiny_backbone(), ACTIVATIONS)

    with pytest.raises(ValueError, match="at most 1000.*Received: 1000000"):
        arguments_of(
            {**config, "num_hidden_layers": 10**6}, ACTIVATIONS, "the file"
        )
