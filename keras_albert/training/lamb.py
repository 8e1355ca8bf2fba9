"""LAMB as the paper and Google's ALBERT define it.

Keras's own `Lamb` decays weights outside the trust ratio and adapts biases and
normalisation weights too. Here the decay is part of the direction whose norm
the trust ratio divides by, and one table, made in `build`, says for every
variable whether it is decayed and whether it is adapted.
"""

import re

import keras
from keras import ops

from keras_albert.training.adam_kernels import torch_adam
from keras_albert.training.replica_gradients import SumReplicasFirst

NORMALISATION_AND_BIAS = (r"(^|[/_])(gamma|beta|bias)$",)


@keras.saving.register_keras_serializable("keras_albert")
class Lamb(SumReplicasFirst, keras.optimizers.Lamb):
    """Adapts the step of every weight matrix to the norm of the matrix.

    For each variable `w` with first and second moments `m` and `v`:

    ```
    direction = m / (sqrt(v) + epsilon) + weight_decay * w
    w        -= learning_rate * |w| / |direction| * direction
    ```

    The ratio is 1 where either norm is zero, and for excluded variables.

    Relative to the paper: `bias_correction=False`, the default, is Google's
    ALBERT; `True` corrects both moments as the paper and optax do. Relative to
    `keras.optimizers.Lamb`: decay inside the ratio, exclusions, epsilon 1e-6.

    Args:
        learning_rate: float or schedule. Defaults to `0.00176`, the published
            rate for a batch of 4096; see `keras_albert.training.pretrain`.
        beta_1: float. Decay of the first moment. Defaults to `0.9`.
        beta_2: float. Decay of the second moment. Defaults to `0.999`.
        epsilon: float. Added to the root of `v`. Defaults to `1e-6`.
        weight_decay: float or `None`. Defaults to `0.01`.
        bias_correction: bool. Divide the moments by `1 - beta ** step`.
            Defaults to `False`.
        exclude_from_weight_decay: sequence of regular expressions, searched in
            the variable's path (`"shared_encoder/…/layer_norm/gamma"`), on
            every backend. Defaults to biases and normalisation weights.
        exclude_from_layer_adaptation: the same for the trust ratio. Defaults
            to whatever is excluded from weight decay.
        **kwargs: clipping, accumulation, averaging and name, as in every Keras
            optimizer.

    Example:

    >>> optimizer = Lamb(learning_rate=0.001, global_clipnorm=1.0)
    >>> optimizer.weight_decay
    0.01

    Reference:
        [You et al., 2020](https://arxiv.org/abs/1904.00962), algorithm 2;
        `lamb_optimizer.py` in Google's ALBERT.
    """

    def __init__(
        self,
        learning_rate=0.00176,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        weight_decay=0.01,
        bias_correction=False,
        exclude_from_weight_decay=NORMALISATION_AND_BIAS,
        exclude_from_layer_adaptation=None,
        name="lamb",
        **kwargs,
    ):
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            weight_decay=weight_decay,
            name=name,
            **kwargs,
        )
        if exclude_from_layer_adaptation is None:
            exclude_from_layer_adaptation = exclude_from_weight_decay
        self.bias_correction = bias_correction
        self.decay_exclusions = _patterns(exclude_from_weight_decay)
        self.adaptation_exclusions = _patterns(exclude_from_layer_adaptation)

    def build(self, var_list):
        """Creates the moments and decides the exclusions of every variable."""
        if self.built:
            return
        super().build(var_list)
        # By index, made from Keras paths: on TensorFlow `update_step` sees a
        # raw `tf.Variable`, whose name is another one than on JAX or PyTorch.
        self._is_decayed = [
            not _matches(v.path, self.decay_exclusions) for v in var_list
        ]
        self._is_adapted = [
            not _matches(v.path, self.adaptation_exclusions) for v in var_list
        ]

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Refuses: exclusions are constructor arguments here."""
        raise NotImplementedError(
            "`Lamb` takes its exclusions in the constructor, so that they are "
            "saved with it. Pass `exclude_from_weight_decay=[patterns]`."
        )

    def _apply_weight_decay(self, variables):
        """Does nothing: `update_step` decays inside the trust ratio."""

    def _decays_outside_of_step(self, variable):
        return False

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if keras.backend.backend() != "torch":
            super()._backend_update_step(
                grads, trainable_variables, learning_rate
            )
            return
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            self._torch_update_step(gradient, variable, learning_rate)

    def _torch_update_step(self, gradient, variable, learning_rate):
        """`update_step` in a quarter of the passes over memory."""
        import torch

        index = self._get_variable_index(variable)
        weight = variable.value.detach()
        # Adam's step from zero at a rate of -1 is the direction.
        direction = torch.zeros_like(weight)
        torch_adam(
            [direction],
            [gradient],
            [self._momentums[index].value],
            [self._velocities[index].value],
            rate=-1.0,
            betas=(self.beta_1, self.beta_2),
            epsilon=self.epsilon,
            finished_steps=(
                self.iterations.value if self.bias_correction else None
            ),
        )
        if self.weight_decay and self._is_decayed[index]:
            direction.add_(weight, alpha=self.weight_decay)
        rate = ops.cast(learning_rate, weight.dtype)
        if self._is_adapted[index]:
            rate = rate * norm_ratio(
                torch.linalg.vector_norm(weight),
                torch.linalg.vector_norm(direction),
            )
        weight.addcmul_(direction, rate, value=-1)

    def update_step(self, gradient, variable, learning_rate):
        """Moves one variable."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        # TensorFlow gives an embedding's gradient as slices, one per looked-up
        # id; the sum makes it dense, so that repeated ids are squared as one.
        gradient = ops.add(gradient, ops.zeros(variable.shape, gradient.dtype))
        gradient = ops.cast(gradient, variable.dtype)
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))

        first, second = ops.convert_to_tensor(m), ops.convert_to_tensor(v)
        if self.bias_correction:
            step = ops.cast(self.iterations + 1, variable.dtype)
            first = first / (1 - ops.power(self.beta_1, step))
            second = second / (1 - ops.power(self.beta_2, step))
        direction = first / (ops.sqrt(second) + self.epsilon)
        if self.weight_decay and self._is_decayed[index]:
            direction = direction + self.weight_decay * variable
        if self._is_adapted[index]:
            direction = direction * trust_ratio(variable, direction)
        rate = ops.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * direction)

    def get_config(self):
        """Returns the constructor's arguments."""
        config = super().get_config()
        config["bias_correction"] = self.bias_correction
        config["exclude_from_weight_decay"] = self.decay_exclusions
        config["exclude_from_layer_adaptation"] = self.adaptation_exclusions
        return config


def trust_ratio(weights, direction):
    """Returns `|weights| / |direction|`, or 1 where either norm is zero."""
    return norm_ratio(
        ops.sqrt(ops.sum(ops.square(weights))),
        ops.sqrt(ops.sum(ops.square(direction))),
    )


def norm_ratio(weight_norm, direction_norm):
    """Returns the quotient of two scalars, or 1 where either is zero."""
    usable = ops.logical_and(weight_norm > 0, direction_norm > 0)
    divisor = ops.where(usable, direction_norm, ops.ones_like(direction_norm))
    return ops.where(usable, weight_norm / divisor, ops.ones_like(divisor))


def _patterns(patterns):
    if isinstance(patterns, str):
        raise TypeError(
            "Exclusions must be a sequence of regular expressions. Received "
            f"the string {patterns!r}. Pass [{patterns!r}]."
        )
    return list(patterns or [])


def _matches(path, patterns):
    return any(re.search(pattern, path) for pattern in patterns)
