"""The graph from token ids to numbers, for other runtimes than a server."""

import keras
import tensorflow as tf

from keras_albert.export.served_encoder import ACTIVATIONS
from keras_albert.export.served_encoder import Dense
from keras_albert.export.served_encoder import LayerNorm
from keras_albert.export.served_encoder import ServedEncoder
from keras_albert.export.token_signature import BATCH
from keras_albert.export.token_signature import LENGTH
from keras_albert.export.token_signature import MASKS
from keras_albert.export.token_signature import token_signature
from keras_albert.export.token_signature import with_sizes

# TensorFlow's own exact GELU has an operation (Erfc) that no other runtime
# knows.
PORTABLE_ACTIVATIONS = {
    **ACTIVATIONS,
    "gelu_erf": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 2**-0.5)),
}


class TokenModel(tf.Module):
    """A copy of a model's weights, and its function of token ids.

    Args:
        task: `ServedTask`.
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`,
            on any backend.

    Call arguments:
        token_ids: int32 tensor of shape `(batch_size, sequence_length)`.
        segment_ids: int32 tensor of that shape.
        padding_mask: int32 tensor of that shape, 1 at tokens.
        mask_positions: int32 tensor of shape `(batch_size, num_masks)`, a
            pretrainer's only.

    Returns:
        Dict of float32 tensors, see `token_signature`: a classifier's
        probabilities, a regressor's value, a backbone's vectors, a
        pretrainer's logits.
    """

    def __init__(self, task, model):
        super().__init__()
        self._task = task
        backbone = getattr(model, "backbone", model)
        self.encoder = ServedEncoder(backbone, activations=PORTABLE_ACTIVATIONS)
        self.head = self.mask_head = None
        if task.kind in ("classifier", "regressor"):
            self.head = _dense(model.logits)
            self._activation = getattr(model.activation, "__name__", "linear")
        if task.kind == "pretrainer":
            self.head = _dense(model.sentence_order_head.logits)
            self.mask_head = MaskLogits(
                model.masked_lm_head, self.encoder.tokens
            )

    def weight_bytes(self):
        """Bytes of all weights, each counted once."""
        return sum(
            v.shape.num_elements() * v.dtype.size for v in self.variables
        )

    def function(self, batch=None, length=None, masks=None):
        """Makes the function for certain sizes.

        Args:
            batch: int, or `None` for any.
            length: int or `None`.
            masks: int or `None`.

        Returns:
            `tf.function` with an input signature.
        """
        inputs = token_signature(self._task)["inputs"]
        sizes = {BATCH: batch, LENGTH: length, MASKS: masks}
        specs = [
            tf.TensorSpec(with_sizes(shape, sizes), dtype, name=name)
            for name, (dtype, shape) in inputs.items()
        ]
        return tf.function(
            lambda *values: self(*values),
            input_signature=specs,
            autograph=False,
        )

    def __call__(
        self, token_ids, segment_ids, padding_mask, mask_positions=None
    ):
        hidden = self.encoder(token_ids, segment_ids, padding_mask)
        pooled = self.encoder.pooled(hidden)
        if self._task.kind == "backbone":
            return {
                "sequence_output": hidden,
                "pooled": pooled,
                "mean_pooled": _mean_of_tokens(hidden, padding_mask),
            }
        values = self.head(pooled)
        if self._task.kind == "classifier":
            return {"probabilities": tf.nn.softmax(values)}
        if self._task.kind == "regressor":
            values = values[:, 0]
            if self._activation == "sigmoid":
                values = tf.sigmoid(values)
            return {"value": values}
        return {
            "masked_lm": self.mask_head(hidden, mask_positions),
            "sentence_order": values,
        }


class MaskLogits(tf.Module):
    """Scores of the vocabulary at given positions.

    Args:
        head: `MaskedLMHead`.
        table: the encoder's variable of shape `(vocabulary_size, E)`.

    Call arguments:
        hidden: float32 tensor of shape `(batch_size, sequence_length, H)`.
        mask_positions: int32 tensor of shape `(batch_size, num_masks)`.

    Returns:
        Float32 tensor of shape `(batch_size, num_masks, vocabulary_size)`.
    """

    def __init__(self, head, table):
        super().__init__()
        self.table = table
        self.transform = _dense(head.transform)
        self.norm = LayerNorm(
            _variable(head.layer_norm.gamma),
            _variable(head.layer_norm.beta),
            head.layer_norm.epsilon,
        )
        self.bias = _variable(head.output_bias)
        self._activation = PORTABLE_ACTIVATIONS[head.activation]

    def __call__(self, hidden, mask_positions):
        x = tf.gather(hidden, mask_positions, batch_dims=1)  # (B, P, H)
        sizes = tf.shape(mask_positions)
        x = tf.reshape(x, [-1, hidden.shape[-1]])  # (B * P, H)
        x = self.norm(self._activation(self.transform(x)))
        logits = tf.matmul(x, self.table, transpose_b=True) + self.bias
        shape = tf.concat([sizes, [self.table.shape[0]]], 0)
        return tf.reshape(logits, shape)


def _mean_of_tokens(hidden, padding_mask):
    # Without einsum, which ONNX Runtime cannot run for a batch of none.
    weights = tf.cast(padding_mask > 0, tf.float32)[:, :, None]
    total = tf.reduce_sum(hidden * weights, 1)
    return total / tf.maximum(tf.reduce_sum(weights, 1), 1.0)


def _dense(layer):
    return Dense(_variable(layer.kernel), _variable(layer.bias))


def _variable(value):
    value = keras.ops.convert_to_numpy(value).astype("float32")
    return tf.Variable(value, trainable=False)
