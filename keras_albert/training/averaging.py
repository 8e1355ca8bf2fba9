"""Averaged weights: evaluated and saved in place of the last ones.

An exponential moving average of the weights over the updates is often better
than the weights of any one update. It lives in the optimizer; for an evaluation
and for the finished model it changes places with the weights.
"""

import contextlib

import keras
from keras import ops

from keras_albert.training.run_optimizers import inner_optimizer


class EvaluateAverage(keras.callbacks.Callback):
    """Evaluates with the averaged weights, and brings the last ones back."""

    def __init__(self):
        super().__init__()
        self._swapped = contextlib.ExitStack()

    def on_test_begin(self, logs=None):
        """Puts the average into the model."""
        self._swapped.enter_context(averaged_weights(self.model))

    def on_test_end(self, logs=None):
        """Puts the last weights back."""
        self._swapped.close()


@contextlib.contextmanager
def averaged_weights(model):
    """Holds the averaged weights in a model; without an average, changes none.

    Args:
        model: `keras.Model`, compiled with an optimizer that has `use_ema`.
    """
    optimizer = inner_optimizer(model.optimizer)
    averages = getattr(optimizer, "_model_variables_moving_average", None)
    # Before the first update the average is nothing but zeros.
    if not averages or not ops.convert_to_numpy(optimizer._iterations):
        yield
        return
    variables = optimizer._trainable_variables
    # Copies stay where the weights lie, which may be devices of others.
    last = [_copy(variable) for variable in variables]
    for variable, average in zip(variables, averages, strict=True):
        variable.assign(_copy(average))
    try:
        yield
    finally:
        for variable, value in zip(variables, last, strict=True):
            variable.assign(value)


def _copy(variable):
    return ops.copy(ops.stop_gradient(ops.convert_to_tensor(variable)))
