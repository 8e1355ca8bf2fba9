"""Rate, warm-up and steps from the batch size alone, with the reasoning.

Two recipes live side by side. The published one is for pretraining a published
size to the end: LAMB, from the published batch of 4096, for the same number of
examples. The small one is for hours on one machine, where the published number
of examples is out of reach: AdamW, a fixed number of steps.

Reference:
    [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 4.1 and
    Google's `run_pretraining.py`: 125,000 steps, 3,125 of them warm-up;
    [You et al., 2020](https://arxiv.org/abs/1904.00962), section 4: the
    square-root rule from batches of 512 to 32,768.
"""

import dataclasses

from keras_albert.training.recipes import PUBLISHED_BATCH_SIZE
from keras_albert.training.recipes import PUBLISHED_LEARNING_RATE
from keras_albert.training.recipes import WARMUP_SHARE
from keras_albert.training.recipes import pretraining_rate

PUBLISHED_STEPS = 125_000
PUBLISHED_WARMUP_STEPS = 3_125
SMALL_STEPS = 5_000
SMALLEST_LAMB_BATCH = 512
RECIPES = ("published", "small")
# Beyond these the user's own figure is worth a second look.
_FAR_RATE = 3.0
_FAR_WARMUP = 5.0


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The figures of a run, and why.

    Attributes:
        name: string. `"published"` or `"small"`.
        optimizer: string. `"lamb"` or `"adamw"`.
        learning_rate: float. The peak.
        warmup_steps: int.
        steps: int.
        reasons: tuple of strings. What was derived from what.
        warnings: tuple of strings. Where the user's figures are far from it.
    """

    name: str
    optimizer: str
    learning_rate: float
    warmup_steps: int
    steps: int
    reasons: tuple
    warnings: tuple


def recipe_name(recipe=None, size=None, steps=None):
    """Returns which recipe holds.

    A published size without a number of steps is pretrained as published;
    everything else is a small run.

    Args:
        recipe: string. One of `RECIPES`, or `None` to choose.
        size: string. A published size, or `None`.
        steps: int, or `None`.
    """
    if recipe is None:
        whole = size is not None and steps is None
        return "published" if whole else "small"
    if recipe not in RECIPES:
        raise ValueError(
            f"`recipe` must be one of {', '.join(RECIPES)}. Received: "
            f"{recipe!r}."
        )
    return recipe


def recipe_steps(name, batch_size):
    """Returns the steps of a recipe, for a batch size.

    Example:

    >>> recipe_steps("published", 1024)
    500000
    """
    if name == "small":
        return SMALL_STEPS
    return round(PUBLISHED_STEPS * PUBLISHED_BATCH_SIZE / batch_size)


def make_recipe(
    name,
    batch_size,
    hidden_dim,
    *,
    steps=None,
    optimizer=None,
    learning_rate=None,
    warmup_steps=None,
):
    """Fills in what the user left out, and says how.

    Args:
        name: string. One of `RECIPES`.
        batch_size: int. Examples of an update.
        hidden_dim: int. H.
        steps, optimizer, learning_rate, warmup_steps: the user's own figures,
            or `None`.

    Returns:
        `Recipe`.

    Example:

    >>> recipe = make_recipe("published", batch_size=1024, hidden_dim=768)
    >>> recipe.learning_rate, recipe.warmup_steps, recipe.steps
    (0.00088, 12500, 500000)
    """
    published = name == "published"
    derived = {
        "optimizer": "lamb" if published else "adamw",
        "steps": recipe_steps(name, batch_size),
    }
    chosen_steps = steps or derived["steps"]
    chosen_optimizer = optimizer or derived["optimizer"]
    rate = pretraining_rate(chosen_optimizer, batch_size, hidden_dim)
    share = (
        PUBLISHED_WARMUP_STEPS / PUBLISHED_STEPS if published else WARMUP_SHARE
    )
    warmup = int(share * chosen_steps)
    recipe = Recipe(
        name=name,
        optimizer=chosen_optimizer,
        learning_rate=rate if learning_rate is None else learning_rate,
        warmup_steps=warmup if warmup_steps is None else warmup_steps,
        steps=chosen_steps,
        reasons=(),
        warnings=(),
    )
    return dataclasses.replace(
        recipe,
        reasons=_reasons(recipe, batch_size, rate, warmup, share),
        warnings=_warnings(recipe, batch_size, rate, warmup),
    )


def _reasons(recipe, batch_size, rate, warmup, share):
    lines = [_rate_reason(recipe, batch_size, rate)]
    examples = recipe.steps * batch_size
    steps = (
        f"{recipe.steps:,} steps, {recipe.warmup_steps:,} of them warm-up "
        f"({_given_or(recipe.warmup_steps == warmup, f'{share:.1%}')}): "
        f"{examples:,} examples"
    )
    if recipe.name == "published":
        all_examples = PUBLISHED_STEPS * PUBLISHED_BATCH_SIZE
        lines.insert(
            0,
            f"Published: lamb, batches of {PUBLISHED_BATCH_SIZE:,}, peak rate "
            f"{PUBLISHED_LEARNING_RATE}, {PUBLISHED_STEPS:,} steps, "
            f"{PUBLISHED_WARMUP_STEPS:,} of them warm-up: {all_examples:,} "
            "examples.",
        )
        steps += f", {examples / all_examples:.3g} of the published"
    return (*lines, f"{steps}.")


def _rate_reason(recipe, batch_size, rate):
    rule = "falls with the width, rises with the root of the batch"
    if recipe.optimizer == "lamb":
        rule = (
            f"{PUBLISHED_LEARNING_RATE} × √({batch_size:,}/"
            f"{PUBLISHED_BATCH_SIZE:,})"
        )
    why = _given_or(recipe.learning_rate == rate, rule)
    return (
        f"Here: {recipe.optimizer}, batches of {batch_size:,}, peak rate "
        f"{recipe.learning_rate:.3g} ({why})."
    )


def _given_or(is_derived, why):
    return why if is_derived else "as given"


def _warnings(recipe, batch_size, rate, warmup):
    lines = []
    ratio = recipe.learning_rate / rate
    if not 1 / _FAR_RATE <= ratio <= _FAR_RATE:
        lines.append(
            f"The peak rate {recipe.learning_rate:.3g} is {ratio:.2g} times "
            f"what the rule gives for batches of {batch_size:,} ({rate:.3g}). "
            "If the loss stays or jumps, leave --learning-rate out."
        )
    far = recipe.warmup_steps * _FAR_WARMUP < warmup
    if far or recipe.warmup_steps > _FAR_WARMUP * max(warmup, 1):
        lines.append(
            f"The warm-up of {recipe.warmup_steps:,} steps is far from the "
            f"{warmup:,} of the recipe. If the loss jumps or crawls, leave "
            "--warmup-steps out."
        )
    if recipe.optimizer == "lamb" and batch_size < SMALLEST_LAMB_BATCH:
        lines.append(
            f"The square-root rule was tried from {SMALLEST_LAMB_BATCH} "
            f"examples a batch on; {batch_size:,} is fewer. Raise "
            "--batch-size, with --accumulate if memory is short, or take "
            "--recipe small."
        )
    return tuple(lines)
