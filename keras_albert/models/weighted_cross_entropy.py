"""Cross-entropy divided by the number of targets in the whole batch."""

import keras
from keras import ops

from keras_albert.models.own_rows import total_over_devices
from keras_albert.models.own_rows import whole_loss


@keras.saving.register_keras_serializable("keras_albert")
class WeightedCrossEntropy(keras.losses.SparseCategoricalCrossentropy):
    """The mean over all targets of a batch, however it lies on devices.

    The weighted sum is divided by the sum of the weights. Where the rows of a
    batch lie on several devices, that is the sum over all of them: a device
    with few masked tokens counts little, and N devices give the loss and the
    gradients of one. Keras's own mean would weigh all devices alike.

    Args:
        from_logits: bool. Defaults to `True`.
        name: string.
        **kwargs: as `keras.losses.SparseCategoricalCrossentropy`; the
            reduction is this class's own.

    Call arguments:
        y_true: int tensor of shape `(batch_size, ...)`.
        y_pred: float tensor of shape `(batch_size, ..., classes)`.
        sample_weight: float tensor of the shape of `y_true`, or `None` for
            ones.

    Returns:
        Scalar tensor, 0 where all weights are 0.

    Example:

    >>> loss = WeightedCrossEntropy()
    >>> logits = keras.ops.zeros((2, 3))
    >>> labels, weights = keras.ops.array([0, 1]), keras.ops.array([1.0, 0.0])
    >>> round(float(loss(labels, logits, weights)), 3)  # ln 3
    1.099
    """

    def __init__(
        self, from_logits=True, name="weighted_cross_entropy", **kwargs
    ):
        kwargs["reduction"] = "sum"
        super().__init__(from_logits=from_logits, name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        total = super().__call__(y_true, y_pred, sample_weight)
        if sample_weight is None:
            sample_weight = ops.ones(ops.shape(y_true))
        weight = ops.cast(ops.sum(sample_weight), total.dtype)
        part = ops.divide_no_nan(total, total_over_devices(weight))
        return whole_loss(part)
