import math

import pytest

from keras_albert.training.published_recipe import make_recipe
from keras_albert.training.published_recipe import recipe_name
from keras_albert.training.published_recipe import recipe_steps


def test_the_published_batch_gives_the_published_figures():
    recipe = make_recipe("published", 4096, 768)

    assert recipe.optimizer == "lamb"
    assert recipe.learning_rate == 0.00176
    assert recipe.steps == 125_000
    assert recipe.warmup_steps == 3_125
    assert not recipe.warnings


@pytest.mark.parametrize("batch_size", [512, 1024, 20480])
def test_every_batch_sees_the_same_examples(batch_size):
    recipe = make_recipe("published", batch_size, 768)

    assert recipe.steps * batch_size == 125_000 * 4096
    assert recipe.warmup_steps * batch_size == 3_125 * 4096
    assert recipe.learning_rate == pytest.approx(
        0.00176 * math.sqrt(batch_size / 4096)
    )
    assert not recipe.warnings


def test_the_reasoning_names_what_was_derived_from_what():
    text = "\n".join(make_recipe("published", 1024, 768).reasons)

    for part in (
        *("4,096", "0.00176", "125,000", "3,125", "512,000,000 examples"),
        *("1,024", "√(1,024/4,096)", "0.00088", "500,000", "12,500", "2.5%"),
    ):
        assert part in text, part
    given = make_recipe("published", 1024, 768, steps=1000, learning_rate=1e-3)
    text = "\n".join(given.reasons)
    assert "0.001 (as given)" in text
    assert "0.002 of the published" in text
    assert given.warmup_steps == 25


@pytest.mark.parametrize(
    "figures, words",
    [
        ({"learning_rate": 0.01}, "11 times what the rule gives"),
        ({"learning_rate": 1e-4}, "0.11 times what the rule gives"),
        ({"warmup_steps": 0}, "warm-up of 0 steps is far"),
        ({"warmup_steps": 100_000}, "12,500 of the recipe"),
    ],
)
def test_figures_that_are_far_from_the_recipe_are_named(figures, words):
    (warning,) = make_recipe("published", 1024, 768, **figures).warnings

    assert words in warning
    assert "leave --" in warning


def test_figures_that_are_near_are_taken_without_a_word():
    recipe = make_recipe(
        "published", 1024, 768, learning_rate=1e-3, warmup_steps=10_000
    )

    assert (recipe.learning_rate, recipe.warmup_steps) == (1e-3, 10_000)
    assert not recipe.warnings


def test_lamb_on_small_batches_is_advised_against():
    (warning,) = make_recipe("published", 32, 768).warnings

    assert "--accumulate" in warning
    assert "--recipe small" in warning


def test_the_small_recipe():
    """AdamW: 1e-3 at a width of 192, half of it at twice the width."""
    recipe = make_recipe("small", 32, 384)

    assert recipe.optimizer == "adamw"
    assert recipe.learning_rate == pytest.approx(5e-4)
    assert (recipe.steps, recipe.warmup_steps) == (5000, 250)
    assert not recipe.warnings


def test_a_published_size_without_steps_is_pretrained_as_published():
    assert recipe_name(size="albert_base") == "published"
    assert recipe_name(size="albert_base", steps=1000) == "small"
    assert recipe_name() == recipe_name(steps=10) == "small"
    assert recipe_name("published", steps=10) == "published"
    assert recipe_steps("small", 8) == 5000
    with pytest.raises(ValueError, match="published, small"):
        recipe_name("large")
