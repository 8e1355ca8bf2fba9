"""AdamW with the engine's own kernel; `adam_kernels` says why."""

import keras
from keras import ops

from keras_albert.training.adam_kernels import tensorflow_adam
from keras_albert.training.adam_kernels import torch_adam
from keras_albert.training.replica_gradients import SumReplicasFirst


@keras.saving.register_keras_serializable("keras_albert")
class AdamW(SumReplicasFirst, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW`, faster, and right on several devices.

    The numbers are Keras's. On TensorFlow and PyTorch an update is one kernel
    of theirs, which also needs no memory of its own. Under `tf.distribute`,
    gradients are summed over all devices before they are clipped or
    accumulated; and on TensorFlow the gradient of an id that comes twice in a
    batch is squared as one.

    Args:
        *args, **kwargs: as `keras.optimizers.AdamW`.

    Example:

    >>> AdamW(1e-3, global_clipnorm=1.0).global_clipnorm
    1.0
    """

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if keras.backend.backend() != "torch" or self.amsgrad:
            super()._backend_update_step(
                grads, trainable_variables, learning_rate
            )
            return
        indices = [self._get_variable_index(v) for v in trainable_variables]
        torch_adam(
            [v.value for v in trainable_variables],
            grads,
            [self._momentums[i].value for i in indices],
            [self._velocities[i].value for i in indices],
            rate=self._corrected_rate(learning_rate),
            betas=(self.beta_1, self.beta_2),
            epsilon=self.epsilon,
        )

    def update_step(self, gradient, variable, learning_rate):
        """Moves one variable."""
        if keras.backend.backend() != "tensorflow" or self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        tensorflow_adam(
            variable,
            gradient,
            self._momentums[index].value,
            self._velocities[index].value,
            rate=self._corrected_rate(learning_rate),
            betas=(self.beta_1, self.beta_2),
            epsilon=self.epsilon,
        )

    def _corrected_rate(self, learning_rate):
        """Returns the rate with the correction of both moments in it."""
        step = ops.cast(self.iterations + 1, "float32")
        first, second = (
            1.0 - ops.power(ops.cast(beta, "float32"), step)
            for beta in (self.beta_1, self.beta_2)
        )
        return ops.cast(learning_rate, "float32") * ops.sqrt(second) / first
