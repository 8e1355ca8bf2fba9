"""Learning-rate schedules that count optimizer updates."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_albert")
class WarmupPolynomialDecay(
    keras.optimizers.schedules.LearningRateSchedule,
):
    """Raises the rate linearly from zero to a peak, then lets it decay.

    Update `t` (from 0) has the rate `peak_rate * t / warmup_steps` while
    `t < warmup_steps`, then a polynomial from `peak_rate` at `warmup_steps`
    down to `end_rate` at `total_steps`, and `end_rate` ever after.

    Relative to Google's code: the decay starts where the warm-up ends, so the
    curve has no jump there; Google's polynomial starts at update 0.

    Args:
        peak_rate: float. The highest rate.
        warmup_steps: int. Updates of warm-up; 0 starts at the peak.
        total_steps: int. The update at which `end_rate` is reached.
        end_rate: float. Defaults to `0.0`.
        power: float. Exponent of the decay. Defaults to `1.0`, a line.
        accumulation_steps: int. Keras shows a schedule every micro-step; with
            `gradient_accumulation_steps=k` in the optimizer pass `k` here and
            keep the other arguments in updates. Defaults to `1`.

    Example:

    >>> schedule = WarmupPolynomialDecay(1.0, warmup_steps=2, total_steps=6)
    >>> [float(schedule(step)) for step in range(7)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0]

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), appendix A.2.
    """

    def __init__(
        self,
        peak_rate,
        warmup_steps,
        total_steps,
        end_rate=0.0,
        power=1.0,
        accumulation_steps=1,
        name="warmup_polynomial_decay",
    ):
        super().__init__()
        if not 0 <= warmup_steps < total_steps:
            raise ValueError(
                "`warmup_steps` must be at least 0 and below `total_steps`. "
                f"Received: warmup_steps={warmup_steps}, "
                f"total_steps={total_steps}. A twentieth of `total_steps` is "
                "a usual choice."
            )
        if accumulation_steps < 1:
            raise ValueError(
                "`accumulation_steps` must be at least 1. Received: "
                f"accumulation_steps={accumulation_steps}."
            )
        self.peak_rate = peak_rate
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.end_rate = end_rate
        self.power = power
        self.accumulation_steps = accumulation_steps
        self.name = name

    def __call__(self, step):
        """Returns the rate of update (or micro-step) `step`, a scalar."""
        update = ops.cast(step // self.accumulation_steps, "float32")
        rising = self.peak_rate * update / max(self.warmup_steps, 1)
        left = (self.total_steps - update) / (
            self.total_steps - self.warmup_steps
        )
        falling = self.end_rate + (self.peak_rate - self.end_rate) * ops.power(
            ops.clip(left, 0.0, 1.0), self.power
        )
        return ops.where(update < self.warmup_steps, rising, falling)

    def get_config(self):
        """Returns the constructor's arguments."""
        return {
            "peak_rate": self.peak_rate,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "end_rate": self.end_rate,
            "power": self.power,
            "accumulation_steps": self.accumulation_steps,
            "name": self.name,
        }
