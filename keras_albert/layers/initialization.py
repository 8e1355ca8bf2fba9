"""How ALBERT's weights start: one initializer for every kernel and table."""

import contextlib
import contextvars

import keras

_FILLED_LATER = contextvars.ContextVar("filled_later", default=None)


def kernel_initializer(stddev=0.02, seed=None):
    """Returns the truncated normal of Google's `create_initializer`.

    Args:
        stddev: float. Standard deviation. Defaults to `0.02`.
        seed: int or None. `None` draws from Keras's global seed.
    """
    if (initializer := _FILLED_LATER.get()) is not None:
        return initializer
    return keras.initializers.TruncatedNormal(stddev=stddev, seed=seed)


@contextlib.contextmanager
def filled_later(initializer=None):
    """Makes the kernels of models built in the block zero, not random.

    For models whose weights are read from a file next: drawing random numbers
    takes up to three times the memory of the weights themselves.

    Args:
        initializer: `keras.initializers.Initializer` that gives the kernels
            something else than zeros.
    """
    token = _FILLED_LATER.set(initializer or keras.initializers.Zeros())
    try:
        yield
    finally:
        _FILLED_LATER.reset(token)
