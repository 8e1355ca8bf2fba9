"""The optimizers of a run, with everything counted in updates.

Keras moves the average of the weights at every batch, also at those that only
add to an update, and writes it over the weights at the end of every `fit`,
which would stop a run that calls `fit` once per interval. Here the average
moves once per update and stays beside the weights; see `averaging`.
"""

import keras
from keras import ops

from keras_albert.training.adam import AdamW
from keras_albert.training.lamb import Lamb


class PerUpdate:
    """Mixin before a Keras optimizer.

    Attributes:
        gradient_norm: scalar float32 `keras.Variable`: the norm over all
            gradients of the last update, before clipping.
    """

    def build(self, variables):
        """Creates the variables."""
        if self.built:
            return
        self.gradient_norm = self.add_variable(
            shape=(),
            dtype="float32",
            initializer="zeros",
            # Replicas clip the sum over all of them, so that any will do.
            aggregation="only_first_replica",
            name="gradient_norm",
        )
        super().build(variables)

    def _clip_gradients(self, grads):
        grads = [_dense(gradient) for gradient in grads]
        norm = _global_norm(grads)
        self.gradient_norm.assign(norm)
        if self.clipnorm or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        # Keras would go through all gradients once more for the norm. As
        # there, one that is not finite makes all of them NaN.
        scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        scale = scale + (norm - norm)
        return _scaled(grads, scale)

    def _update_model_variables_moving_average(self, trainable_variables):
        if not self.use_ema:
            return
        # The iteration is counted after this: 0 during the first update.
        step = ops.cast(self._iterations, "int32") + 1
        is_update = step % (self.gradient_accumulation_steps or 1) == 0
        is_first = step <= (self.gradient_accumulation_steps or 1)
        kept = ops.where(is_update, self.ema_momentum, 1.0)
        kept = ops.where(is_first, 0.0, kept)
        for variable, average in zip(
            trainable_variables,
            self._model_variables_moving_average,
            strict=True,
        ):
            share = ops.cast(1.0 - kept, variable.dtype)
            average.assign(average + share * (variable - average))

    def finalize_variable_values(self, var_list):
        """Leaves the weights alone."""


@keras.saving.register_keras_serializable("keras_albert")
class RunLamb(PerUpdate, Lamb):
    """`Lamb` with the average and the gradient's norm of a run."""


@keras.saving.register_keras_serializable("keras_albert")
class RunAdamW(PerUpdate, AdamW):
    """`AdamW` with the same."""


def inner_optimizer(optimizer):
    """Returns the optimizer inside Keras's loss scaling, or itself."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def _global_norm(gradients):
    if keras.backend.backend() == "torch":
        import torch

        # Without an array for the squares.
        norms = [torch.linalg.vector_norm(g) for g in gradients]
        return torch.linalg.vector_norm(torch.stack(norms))
    return ops.sqrt(sum(ops.sum(ops.square(g)) for g in gradients))


def _scaled(gradients, scale):
    """Gradients times a scalar; on PyTorch in place, as its own clipping."""
    if keras.backend.backend() == "torch":
        import torch

        with torch.no_grad():
            return [gradient.mul_(scale) for gradient in gradients]
    return [gradient * scale for gradient in gradients]


def _dense(gradient):
    """Adds up what TensorFlow gives as slices of an embedding, one per id.

    Keras squares the slices of an id that comes twice one by one, so that its
    norm, and what it clips to, are not those of the gradient.
    """
    if keras.backend.backend() != "tensorflow":
        return gradient
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)
