"""Dropout for a batch that lies on several devices.

Keras draws a mask for the rows at hand. Where they are part of a larger batch,
every device would draw the same mask; so whoever splits a batch says here how
to draw one for a device's own rows.
"""

import contextlib
import contextvars

import keras
from keras import ops

_SOURCE = contextvars.ContextVar("keras_albert_dropout_source", default=None)


@contextlib.contextmanager
def dropout_source(uniform):
    """Draws the masks of all `Dropout` layers called inside from a function.

    Args:
        uniform: function of `(shape, seed)`, with `seed` an integer tensor of
            shape `(2,)`, that returns a float32 tensor of that shape, uniform
            between 0 and 1.
    """
    token = _SOURCE.set(uniform)
    try:
        yield
    finally:
        _SOURCE.reset(token)


@keras.saving.register_keras_serializable("keras_albert")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that heeds `dropout_source`.

    Args:
        rate: float. Share of values that are set to zero.
        **kwargs: as `keras.layers.Dropout`.

    Example:

    >>> tuple(Dropout(0.5)(keras.ops.ones((2, 3)), training=True).shape)
    (2, 3)
    """

    def call(self, inputs, training=False):
        uniform = _SOURCE.get()
        if uniform is None or not training or not self.rate:
            return super().call(inputs, training=training)
        kept = 1.0 - self.rate
        draw = uniform(ops.shape(inputs), self.seed_generator.next())
        return ops.where(draw < kept, inputs / kept, ops.zeros_like(inputs))
