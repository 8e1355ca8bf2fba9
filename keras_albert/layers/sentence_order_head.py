"""The sentence-order head: were the two segments swapped?"""

import keras
from keras import ops

from keras_albert.layers.dropout import Dropout
from keras_albert.layers.initialization import kernel_initializer

# Column of the logits, and value of the label, for each answer.
IN_ORDER = 0
SWAPPED = 1


@keras.saving.register_keras_serializable("keras_albert")
class SentenceOrderHead(keras.layers.Layer):
    """Scores whether two adjacent segments of a document were swapped.

    Both segments come from one document, so topic gives nothing away and the
    head must judge coherence.

    Relative to Google's code: there the label is stored as
    `next_sentence_labels`, with the same meaning: 1 = swapped.

    Args:
        dropout: float. Rate on the pooled vector. Google's pretraining has
            none. Defaults to `0.0`.
        initializer_range: float. Defaults to `0.02`.

    Call arguments:
        pooled_output: float tensor of shape `(batch_size, hidden_dim)`.
        training: bool. Whether dropout is active.

    Returns:
        Logits of shape `(batch_size, 2)` in float32. Column 0 scores "in
        order", column 1 "swapped".

    Example:

    >>> head = SentenceOrderHead()
    >>> tuple(head(keras.ops.ones((3, 8))).shape)
    (3, 2)

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3.1;
        Google's `get_sentence_order_output` in `run_pretraining.py`.
    """

    def __init__(self, dropout=0.0, initializer_range=0.02, **kwargs):
        super().__init__(**kwargs)
        self.dropout_rate = dropout
        self.initializer_range = initializer_range
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.logits = keras.layers.Dense(
            2,
            kernel_initializer=kernel_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="logits",
        )

    def build(self, input_shape):
        self.logits.build(input_shape)

    def call(self, pooled_output, training=None):
        x = self.dropout(pooled_output, training=training)
        return ops.cast(self.logits(x), "float32")  # (B, H) -> (B, 2)

    def compute_output_spec(self, pooled_output, training=None):
        return keras.KerasTensor((pooled_output.shape[0], 2), dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "dropout": self.dropout_rate,
                "initializer_range": self.initializer_range,
            }
        )
        return config
