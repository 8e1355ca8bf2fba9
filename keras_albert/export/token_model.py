"""The graph from token ids to numbers, for other runtimes than a server."""

import tensorflow as tf

from keras_albert.export.served_encoder import ServedEncoder
from keras_albert.export.served_heads import ClassHead
from keras_albert.export.served_heads import ScoresAtPlaces
from keras_albert.export.served_heads import mean_of_tokens
from keras_albert.export.served_layers import PORTABLE_ACTIVATIONS
from keras_albert.export.served_layers import Dense
from keras_albert.export.token_signature import BATCH
from keras_albert.export.token_signature import LENGTH
from keras_albert.export.token_signature import MASKS
from keras_albert.export.token_signature import token_signature
from keras_albert.export.token_signature import with_sizes


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
            self.head = ClassHead(model, task)
        if task.kind == "pretrainer":
            self.head = Dense.of(model.sentence_order_head.logits)
            self.mask_head = ScoresAtPlaces(
                model.masked_lm_head, self.encoder.tokens, PORTABLE_ACTIVATIONS
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
                "mean_pooled": mean_of_tokens(hidden, padding_mask),
            }
        if self._task.kind != "pretrainer":
            return self.head(pooled)
        return {
            "masked_lm": self.mask_head(hidden, mask_positions),
            "sentence_order": self.head(pooled),
        }
