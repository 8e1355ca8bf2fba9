"""Which dtype policies can be trained."""

import keras


def check_weight_dtype(dtype):
    """Raises `ValueError` for a policy whose weights are 16-bit themselves.

    A 16-bit weight keeps 8 to 11 binary digits: most updates are smaller and
    round to nothing. Keras's Adam does not move at all, as `beta_2` is 1 there.

    Args:
        dtype: string, `keras.DTypePolicy` or `None` for Keras's default.
    """
    policy = keras.dtype_policies.get(dtype)
    if policy.variable_dtype in ("bfloat16", "float16"):
        raise ValueError(
            f"Weights in {policy.variable_dtype} are too coarse to be trained. "
            f"Received: dtype={policy.name!r}. Pass "
            f"'mixed_{policy.variable_dtype}', which computes in 16 bit and "
            "keeps the weights in 32."
        )
