"""Metrics of the newest batch alone, beside Keras's means since a start.

What a step's loss was cannot be read off Keras's running mean exactly, and the
mean starts anew where a run is resumed. These start anew at every batch.
"""

import keras
from keras import ops

from keras_albert.models.own_rows import total_over_devices

PREFIX = "step_"


class StepValue(keras.metrics.Mean):
    """The weighted mean of a function over the newest batch.

    Args:
        function: function of targets and outputs to a value per target.
        name: string. Behind an underscore, it follows the output's name.
        divide: bool. `False` gives the weighted sum, for weights that were
            divided before. Defaults to `True`.
        **kwargs: arguments of `function`.

    Example:

    >>> metric = StepValue(keras.metrics.mean_absolute_error, "step_error")
    >>> metric.update_state([[1.0]], [[2.0]])
    >>> metric.update_state([[1.0]], [[4.0]])
    >>> float(metric.result())
    3.0
    """

    def __init__(self, function, name, divide=True, **kwargs):
        super().__init__(name=name)
        self.function = function
        self.divide = divide
        self._arguments = kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Forgets all earlier batches and takes this one."""
        values = self.function(y_true, y_pred, **self._arguments)
        values = ops.cast(values, self.dtype)
        if sample_weight is None:
            sample_weight = ops.ones_like(values)
        weights = ops.cast(sample_weight, self.dtype)
        # Each replica of TensorFlow's sees its own rows of the batch.
        self.total.assign(total_over_devices(ops.sum(values * weights)))
        self.count.assign(total_over_devices(ops.sum(weights)))

    def result(self):
        """Returns the value of the newest batch."""
        return super().result() if self.divide else self.total * 1.0


def step_metrics(divide=True):
    """Returns the metrics of one classification head: loss and accuracy.

    Args:
        divide: bool; see `StepValue`.
    """
    return [
        StepValue(
            keras.losses.sparse_categorical_crossentropy,
            f"{PREFIX}loss",
            divide,
            from_logits=True,
        ),
        StepValue(
            keras.metrics.sparse_categorical_accuracy,
            f"{PREFIX}accuracy",
            divide,
        ),
    ]


def is_step_value(name):
    """Whether a name of Keras's logs is that of a `StepValue`."""
    return PREFIX in name


def step_values(logs):
    """Returns the step values in Keras's logs, without their prefix.

    Example:

    >>> step_values({"masked_lm_step_loss": 2.5, "loss": 3.0})
    {'masked_lm_loss': 2.5}
    """
    return {
        name.replace(PREFIX, ""): float(value)
        for name, value in logs.items()
        if is_step_value(name) and not name.startswith("val_")
    }
