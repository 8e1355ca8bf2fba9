"""Optimizers, rates and sizes that a user gets without asking.

The published recipe is LAMB at 0.00176 with batches of 4096. Smaller batches
follow the square-root rule; small models on small budgets take AdamW.
"""

import math

from keras_albert.training.run_optimizers import RunAdamW
from keras_albert.training.run_optimizers import RunLamb
from keras_albert.training.schedules import WarmupPolynomialDecay

PUBLISHED_BATCH_SIZE = 4096
PUBLISHED_LEARNING_RATE = 0.00176
OPTIMIZERS = ("adamw", "lamb")
WARMUP_SHARE = 0.05
MAX_RATE = 1e-3

# AdamW's rate for H = 192 and batches of 32. Measured on English Wikipedia:
# 1e-3 leaves the unigram plateau within 300 steps, 2e-3 stays on it for good.
_ADAMW_RATE, _ADAMW_DIM, _ADAMW_BATCH = 1e-3, 192, 32


def pretraining_rate(optimizer, batch_size, hidden_dim):
    """Returns the peak rate of a pretraining run.

    LAMB: the published rate times the root of the batch's share of 4096.
    AdamW: 1e-3 at a hidden width of 192 and batches of 32, falling with the
    width and rising with the root of the batch, at most 1e-3. One layer
    receives every layer's gradient, so wide models bear less.

    Args:
        optimizer: string. `"lamb"` or `"adamw"`.
        batch_size: int.
        hidden_dim: int. H.

    Returns:
        float.

    Example:

    >>> pretraining_rate("lamb", batch_size=1024, hidden_dim=768)
    0.00088
    """
    if optimizer == "lamb":
        return PUBLISHED_LEARNING_RATE * math.sqrt(
            batch_size / PUBLISHED_BATCH_SIZE
        )
    rate = _ADAMW_RATE * _ADAMW_DIM / hidden_dim
    return min(rate * math.sqrt(batch_size / _ADAMW_BATCH), MAX_RATE)


def make_optimizer(
    name,
    peak_rate,
    *,
    steps,
    warmup_steps=None,
    weight_decay=0.01,
    clip_norm=1.0,
    accumulate=1,
    ema_momentum=None,
):
    """Returns an optimizer with warm-up, linear decay and clipping.

    Biases and normalisation weights are not decayed. Everything is counted in
    updates, however many batches one takes.

    Args:
        name: string. `"lamb"` or `"adamw"`.
        peak_rate: float.
        steps: int. Optimizer updates of the whole run.
        warmup_steps: int, optional. Defaults to a twentieth of `steps`.
        weight_decay: float. Defaults to `0.01`.
        clip_norm: float; 0 or `None` for no clipping. The norm over all
            gradients of an update, to which larger ones are scaled down.
            Defaults to `1.0`, as published.
        accumulate: int. Batches of an update. Defaults to `1`.
        ema_momentum: float, optional. Share of the old average of the weights
            that stays in the new one. Without it, no average is kept.
    """
    if warmup_steps is None:
        warmup_steps = int(WARMUP_SHARE * steps)
    schedule = WarmupPolynomialDecay(
        peak_rate, warmup_steps, steps, accumulation_steps=accumulate
    )
    if name not in OPTIMIZERS:
        raise ValueError(
            f"`optimizer` must be one of {', '.join(OPTIMIZERS)}. Received: "
            f"{name!r}. Take adamw for small runs, lamb for large batches."
        )
    common = {
        "weight_decay": weight_decay,
        "epsilon": 1e-6,
        "global_clipnorm": clip_norm,
        "gradient_accumulation_steps": accumulate if accumulate > 1 else None,
        "use_ema": ema_momentum is not None,
        "ema_momentum": 0.99 if ema_momentum is None else ema_momentum,
    }
    if name == "lamb":
        return RunLamb(schedule, **common)
    optimizer = RunAdamW(schedule, **common)
    # Leaf names: on TensorFlow they are searched in the whole path.
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return optimizer


def small_config():
    """Returns the `AlbertConfig` of a model for minutes on two CPU cores.

    What `pretrain` takes when neither a size nor a configuration is given:
    4 calls of one layer, H = 192, E = 128, 256 positions. The wider start
    (0.04 for 0.02) fits the narrow layers: it leaves the unigram plateau in
    two thirds of the steps.
    """
    from keras_albert.models.config import AlbertConfig

    return AlbertConfig(
        num_layers=4,
        num_heads=4,
        embedding_dim=128,
        hidden_dim=192,
        intermediate_dim=768,
        max_sequence_length=256,
        initializer_range=0.04,
    )
