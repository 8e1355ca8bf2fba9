"""How ALBERT's weights start: one initializer for every kernel and table."""

import keras


def kernel_initializer(stddev=0.02, seed=None):
    """Returns the truncated normal of Google's `create_initializer`.

    Args:
        stddev: float. Standard deviation. Defaults to `0.02`.
        seed: int or None. `None` draws from Keras's global seed.
    """
    return keras.initializers.TruncatedNormal(stddev=stddev, seed=seed)
