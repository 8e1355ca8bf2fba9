"""A batch in parts, so that its activations fit into memory.

    batch of 32 ──┬─ 8 ─ gradient ┐
                  ├─ 8 ─ gradient ├─ sum ─ one update, that of the batch of 32
                  ├─ 8 ─ gradient │
                  └─ 8 ─ gradient ┘

Keras averages the gradients of the parts. The parts of one batch have unequal
numbers of masked tokens, so that the mean of their mean losses is not the mean
loss of the batch. Hence weights are divided here by the batch's own total, and
the loss of a part is a plain sum.
"""

import keras
from keras import ops

from keras_albert.models.own_rows import whole_loss
from keras_albert.models.weighted_cross_entropy import WeightedCrossEntropy


def split_batches(dataset, parts):
    """Cuts every batch into equal parts and divides the weights by their sum.

    Args:
        dataset: `tf.data.Dataset` of `(inputs, targets, weights)`, each a dict
            of tensors whose first axis is the batch.
        parts: int. Divides the batch size.

    Returns:
        `tf.data.Dataset` of the parts, in order. The weights of each output
        sum to `parts` over all parts of a batch.
    """
    import tensorflow as tf

    def divide(inputs, targets, weights):
        weights = {
            name: tf.math.divide_no_nan(
                weight * tf.cast(parts, weight.dtype), tf.reduce_sum(weight)
            )
            for name, weight in weights.items()
        }
        return inputs, targets, weights

    def cut(x):
        shape = tf.shape(x)
        rows = [parts, shape[0] // parts]
        result = tf.reshape(x, tf.concat([rows, shape[1:]], axis=0))
        static = x.shape[0] // parts if x.shape[0] else None
        result.set_shape([parts, static, *x.shape[1:]])
        return result

    def cut_all(*batch):
        return tf.data.Dataset.from_tensor_slices(
            tf.nest.map_structure(cut, divide(*batch))
        )

    count = dataset.cardinality()
    return dataset.flat_map(cut_all).apply(
        tf.data.experimental.assert_cardinality(
            count * parts if count >= 0 else count
        )
    )


@keras.saving.register_keras_serializable("keras_albert")
class PartialCrossEntropy(WeightedCrossEntropy):
    """The weighted sum over a part of a batch, whose weights are divided.

    For batches of `split_batches`. The mean over all parts of a batch is the
    mean loss of the batch.

    Args:
        **kwargs: as `WeightedCrossEntropy`.
    """

    def __call__(self, y_true, y_pred, sample_weight=None):
        # The plain sum that `WeightedCrossEntropy` divides.
        total = super(WeightedCrossEntropy, self).__call__(
            y_true, y_pred, sample_weight
        )
        return whole_loss(total)


class TargetAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """The accuracy over all targets alike, also where weights are divided."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts every target whose weight is above zero once."""
        if sample_weight is not None:
            is_target = ops.convert_to_tensor(sample_weight) > 0
            sample_weight = ops.cast(is_target, "float32")
        super().update_state(y_true, y_pred, sample_weight)
