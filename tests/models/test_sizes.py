"""The table against the published numbers and against built models."""

import pytest

from keras_albert.models import SIZES
from keras_albert.models import AlbertBackbone
from keras_albert.models.sizes import backbone_arguments
from keras_albert.models.sizes import flops_per_token
from keras_albert.models.sizes import parameter_count

PUBLISHED = {
    "albert_base": 11_683_584,
    "albert_large": 17_683_968,
    "albert_xlarge": 58_724_864,
    "albert_xxlarge": 222_595_584,
}


@pytest.mark.parametrize(("name", "count"), PUBLISHED.items())
def test_formula_gives_the_published_count(name, count):
    assert parameter_count(**SIZES[name].arguments) == count


@pytest.mark.parametrize("name", PUBLISHED)
def test_built_model_has_the_published_count(name):
    # Depth and heads cost nothing; two calls instead of twenty-four build
    # quickly.
    backbone = AlbertBackbone.from_size(name, num_layers=2)

    assert backbone.count_params() == PUBLISHED[name]


def test_depth_changes_no_count():
    counts = {
        AlbertBackbone.from_size("albert_tiny_zh", num_layers=n).count_params()
        for n in (1, 4, 12)
    }

    assert counts == {parameter_count(**SIZES["albert_tiny_zh"].arguments)}


# Table 4 of the paper, in millions: (E, policy) -> parameters.
TABLE_4 = {
    (768, "all"): 31,
    (768, "attention"): 83,
    (768, "ffn"): 57,
    (768, "none"): 108,
    (128, "all"): 12,
    (128, "attention"): 64,
    (128, "ffn"): 38,
    (128, "none"): 89,
}


@pytest.mark.parametrize(("key", "millions"), TABLE_4.items())
def test_policies_have_the_sizes_of_table_4(key, millions):
    embedding_dim, sharing = key

    backbone = AlbertBackbone.from_size(
        "albert_base", embedding_dim=embedding_dim, sharing=sharing
    )

    assert round(backbone.count_params() / 1e6) == pytest.approx(
        millions, abs=1
    )
    distinct = {"all": (1, 1), "attention": (1, 12), "ffn": (12, 1)}
    attentions, feed_forwards = distinct.get(sharing, (12, 12))
    arguments = {
        **SIZES["albert_base"].arguments,
        "embedding_dim": embedding_dim,
    }
    assert backbone.count_params() == parameter_count(
        **arguments,
        distinct_attentions=attentions,
        distinct_feed_forwards=feed_forwards,
    )


def test_flops_are_counted_by_hand():
    # One call, H = 2, F = 3, S = 5: four 2x2 projections, scores and mixing
    # over five tokens, 2x3 and 3x2: 2 * (16 + 20 + 12); plus 2 * E * H.
    flops = flops_per_token(
        num_layers=1,
        embedding_dim=1,
        hidden_dim=2,
        intermediate_dim=3,
        sequence_length=5,
    )

    assert flops == 2 * (16 + 20 + 12) + 2 * 1 * 2


def test_flops_grow_with_depth_and_not_with_weights():
    base = SIZES["albert_base"].arguments

    doubled = flops_per_token(**{**base, "num_layers": 24})

    assert doubled == pytest.approx(2 * flops_per_token(**base), rel=1e-2)


def test_unknown_size_proposes_near_names():
    with pytest.raises(ValueError, match="Did you mean albert_base"):
        backbone_arguments("albert_bse")
