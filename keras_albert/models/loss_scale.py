"""float16's loss scaling on several devices: all skip a step, or none does.

Keras 3.15 asks the first replica of `tf.distribute` alone whether its gradients
are finite. An overflow on another one would go into the weights of all.
"""

import keras
from keras import ops

from keras_albert.models.own_rows import total_over_devices


@keras.saving.register_keras_serializable("keras_albert")
class LossScale(keras.optimizers.LossScaleOptimizer):
    """`keras.optimizers.LossScaleOptimizer` that asks every replica.

    Args:
        *args, **kwargs: as `keras.optimizers.LossScaleOptimizer`.

    Example:

    >>> LossScale(keras.optimizers.Adam(1e-3)).initial_scale
    32768.0
    """

    def check_finite(self, grads):
        """Returns whether the gradients of all replicas are finite."""
        is_finite = super().check_finite(grads)
        overflows = ops.cast(ops.logical_not(is_finite), "float32")
        return ops.equal(total_over_devices(overflows), 0.0)


def scale_together(optimizer):
    """Returns an optimizer, with Keras's loss scaling replaced by `LossScale`.

    Args:
        optimizer: Keras optimizer that is not built, or `None`.
    """
    if type(optimizer) is not keras.optimizers.LossScaleOptimizer:
        return optimizer
    return LossScale(
        optimizer.inner_optimizer,
        initial_scale=optimizer.initial_scale,
        dynamic_growth_steps=optimizer.dynamic_growth_steps,
        name=optimizer.name,
    )
