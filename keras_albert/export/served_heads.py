"""What stands on the encoder: a class, a value, scores of tokens, a mean.

All in float32, whatever the encoder's dtype.

Shape letters: H hidden, E embedding, V vocabulary, P places of masks.
"""

import tensorflow as tf

from keras_albert.export.served_layers import ACTIVATIONS
from keras_albert.export.served_layers import Dense
from keras_albert.export.served_layers import LayerNorm
from keras_albert.export.served_layers import variable
from keras_albert.export.signature_shapes import MAX_MASKS


class ClassHead(tf.Module):
    """A classifier's probabilities or a regressor's value.

    Args:
        model: `AlbertTextClassifier`.
        task: `ServedTask` of the kind `"classifier"` or `"regressor"`.

    Call arguments:
        pooled: float32 tensor of shape `(batch_size, H)`.

    Returns:
        Dict: `probabilities` of shape `(batch_size, num_classes)` or `value`
        of shape `(batch_size,)`.
    """

    def __init__(self, model, task):
        super().__init__()
        self.dense = Dense.of(model.logits)
        self._is_regressor = task.kind == "regressor"
        self._activation = getattr(model.activation, "__name__", "linear")

    def __call__(self, pooled):
        values = self.dense(pooled)
        if not self._is_regressor:
            return {"probabilities": tf.nn.softmax(values)}
        value = values[:, 0]
        if self._activation == "sigmoid":
            value = tf.sigmoid(value)
        return {"value": value}


class TokenScores(tf.Module):
    """Logits of the vocabulary for single vectors: `MaskedLMHead`'s numbers.

    Args:
        head: `MaskedLMHead`.
        table: the encoder's variable of shape `(V, E)`.
        activations: dict from the head's name of an activation to a
            function. Defaults to TensorFlow's own.
    """

    def __init__(self, head, table, activations=ACTIVATIONS):
        super().__init__()
        self.table = table
        self.transform = Dense.of(head.transform)
        self.norm = LayerNorm.of(head.layer_norm)
        self.bias = variable(head.output_bias)
        self._activation = activations[head.activation]

    def logits(self, x):
        """Scores rows.

        Args:
            x: float32 tensor of shape `(P, H)`.

        Returns:
            Float32 tensor of shape `(P, V)`.
        """
        x = self.norm(self._activation(self.transform(x)))  # (P, H) -> (P, E)
        table = tf.cast(self.table, tf.float32)
        return tf.matmul(x, table, transpose_b=True) + self.bias


class ScoresAtPlaces(TokenScores):
    """Logits at places that the caller names.

    Args:
        head, table, activations: as of `TokenScores`.

    Call arguments:
        hidden: float32 tensor of shape `(batch_size, sequence_length, H)`.
        mask_positions: int32 tensor of shape `(batch_size, num_masks)`.

    Returns:
        Float32 tensor of shape `(batch_size, num_masks, V)`.
    """

    def __call__(self, hidden, mask_positions):
        x = tf.gather(hidden, mask_positions, batch_dims=1)
        x = tf.reshape(x, [-1, hidden.shape[-1]])
        sizes = tf.shape(mask_positions)
        shape = tf.concat([sizes, [self.table.shape[0]]], 0)
        return tf.reshape(self.logits(x), shape)


class LikeliestTokens(TokenScores):
    """The likeliest tokens at the first masks of each row.

    Args:
        head: `MaskedLMHead`.
        table: the encoder's variable of shape `(V, E)`.
        num_candidates: int. How many tokens are named for a mask.
    """

    def __init__(self, head, table, num_candidates):
        super().__init__(head, table)
        self._num_candidates = num_candidates

    def output_specs(self):
        """What a row's answer looks like, for `run_in_groups`."""
        shape = [MAX_MASKS, self._num_candidates]
        return {
            "num_masks": tf.TensorSpec([], tf.int32),
            "candidates": tf.TensorSpec(shape, tf.int32),
            "scores": tf.TensorSpec(shape, tf.float32),
        }

    def __call__(self, hidden, is_mask):
        """Scores the vocabulary where masks are, and nowhere else.

        Args:
            hidden: float32 tensor of shape `(batch_size, sequence_length,
                H)`.
            is_mask: bool tensor of shape `(batch_size, sequence_length)`.

        Returns:
            Dict: `num_masks` of shape `(batch_size,)`, at most `MAX_MASKS`;
            `candidates`, token ids by falling score, and `scores`, their
            probabilities, of shape `(batch_size, MAX_MASKS,
            num_candidates)`. Places without a mask hold -1 and 0.
        """
        rank = tf.cumsum(tf.cast(is_mask, tf.int32), 1) - 1
        places = tf.where(is_mask & (rank < MAX_MASKS))  # (P, 2)
        logits = self.logits(tf.gather_nd(hidden, places))
        scores, ids = tf.math.top_k(
            tf.nn.softmax(logits), k=self._num_candidates
        )
        rows, ranks = places[:, 0], tf.gather_nd(rank, places)
        target = tf.stack([tf.cast(rows, tf.int32), ranks], 1)
        shape = [tf.shape(hidden)[0], MAX_MASKS, self._num_candidates]
        counts = tf.reduce_sum(tf.cast(is_mask, tf.int32), 1)
        return {
            "num_masks": tf.minimum(counts, MAX_MASKS),
            "candidates": tf.scatter_nd(target, ids + 1, shape) - 1,
            "scores": tf.scatter_nd(target, scores, shape),
        }


def mean_of_tokens(hidden, padding_mask):
    """Averages the vectors of a row's tokens, special ones included.

    Args:
        hidden: float32 tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: int32 tensor of shape `(batch_size, sequence_length)`.

    Returns:
        Float32 tensor of shape `(batch_size, H)`; zeros for a row without
        tokens.
    """
    # Without einsum, which ONNX Runtime cannot run for a batch of none.
    weights = tf.cast(padding_mask > 0, tf.float32)[:, :, None]
    total = tf.reduce_sum(hidden * weights, 1)
    return total / tf.maximum(tf.reduce_sum(weights, 1), 1.0)
