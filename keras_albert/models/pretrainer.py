"""MLM + SOP: the model that is pretrained."""

import keras
import keras_hub

from keras_albert.layers.masked_lm_head import MaskedLMHead
from keras_albert.layers.sentence_order_head import SentenceOrderHead
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.own_rows import on_own_rows
from keras_albert.models.own_rows import replica_dropout
from keras_albert.models.own_rows import rows_are_split
from keras_albert.models.task import AlbertTask
from keras_albert.models.weighted_cross_entropy import WeightedCrossEntropy


@keras.saving.register_keras_serializable("keras_albert")
class AlbertPretrainer(AlbertTask, keras_hub.models.Task):
    """ALBERT with its two pretraining heads, trained by plain `fit`.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertTextClassifierPreprocessor` or `None`. It is not
            applied to training batches, which come from
            `keras_albert.data.pretraining_dataset`; it travels with the
            preset, so that the vocabulary does.
        layer_norm_epsilon: float or None. Of the masked language head;
            `None` takes the backbone's, as the published models do.

    Call arguments:
        inputs: dict of int32 tensors: the backbone's three inputs and
            `mask_positions` of shape `(batch_size, num_predictions)`.

    Returns:
        Dict of float32 logits: `masked_lm` of shape `(batch_size,
        num_predictions, vocabulary_size)` and `sentence_order` of shape
        `(batch_size, 2)`, column 1 = swapped.

    Example:

    >>> backbone = AlbertBackbone(11, 2, 2, 3, 8, 13)
    >>> pretrainer = AlbertPretrainer(backbone)
    >>> ids = keras.ops.ones((1, 5), dtype="int32")
    >>> outputs = pretrainer(
    ...     {
    ...         "token_ids": ids,
    ...         "segment_ids": ids * 0,
    ...         "padding_mask": ids,
    ...         "mask_positions": ids[:, :2],
    ...     }
    ... )
    >>> tuple(outputs["masked_lm"].shape)
    (1, 2, 11)

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 3;
        Google's `run_pretraining.py`.
    """

    backbone_cls = AlbertBackbone

    def __init__(
        self, backbone, preprocessor=None, layer_norm_epsilon=None, **kwargs
    ):
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.masked_lm_head = MaskedLMHead(
            backbone.token_embedding,
            activation=backbone.activation,
            layer_norm_epsilon=(
                backbone.layer_norm_epsilon
                if layer_norm_epsilon is None
                else layer_norm_epsilon
            ),
            initializer_range=backbone.initializer_range,
            dtype=backbone.dtype_policy,
            name="masked_lm_head",
        )
        self.sentence_order_head = SentenceOrderHead(
            initializer_range=backbone.initializer_range,
            dtype=backbone.dtype_policy,
            name="sentence_order_head",
        )

        # === Functional model ===
        inputs = {
            **backbone.input,
            "mask_positions": keras.Input(
                shape=(None,), dtype="int32", name="mask_positions"
            ),
        }
        encoded = backbone(backbone.input)
        super().__init__(
            inputs=inputs,
            outputs={
                "masked_lm": self.masked_lm_head(
                    encoded["sequence_output"],
                    mask_positions=inputs["mask_positions"],
                ),
                "sentence_order": self.sentence_order_head(
                    encoded["pooled_output"]
                ),
            },
            **kwargs,
        )

        # === Config ===
        self.layer_norm_epsilon = layer_norm_epsilon

    def get_config(self):
        config = super().get_config()
        return {**config, "layer_norm_epsilon": self.layer_norm_epsilon}

    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Returns training batches as they are: they hold token ids."""
        return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)

    def compile(
        self,
        optimizer="auto",
        loss="auto",
        *,
        weighted_metrics="auto",
        **kwargs,
    ):
        """Configures training, with defaults for all that is left out.

        Args:
            optimizer: `"auto"` is Adam at 1e-4 with gradients clipped to a
                global norm of 1. For a long run take
                `keras_albert.training.Lamb` with a schedule.
            loss: `"auto"` is cross-entropy for both heads, each divided by
                the sum of its weights in the batch, so that the number of
                masked tokens does not change the scale.
            weighted_metrics: `"auto"` is the accuracy of each head, counted
                where the weights are.
            **kwargs: as `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-4, global_clipnorm=1.0)
        if loss == "auto":
            loss = {
                "masked_lm": WeightedCrossEntropy(),
                "sentence_order": WeightedCrossEntropy(),
            }
        if weighted_metrics == "auto":
            weighted_metrics = {
                "masked_lm": [_accuracy()],
                "sentence_order": [_accuracy()],
            }
        super().compile(
            optimizer=optimizer,
            loss=loss,
            weighted_metrics=weighted_metrics,
            **kwargs,
        )

    def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Makes one step with a batch, as `keras.Model.train_on_batch`."""
        # keras-hub's takes no dict of targets.
        batch = _as_tensors((x, y, sample_weight))
        return keras.Model.train_on_batch(self, *batch, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Evaluates a batch, as `keras.Model.test_on_batch`."""
        batch = _as_tensors((x, y, sample_weight))
        return keras.Model.test_on_batch(self, *batch, **kwargs)

    def train_step(self, *args):
        """Makes one step; each replica of `tf.distribute` drops its own way."""
        if keras.backend.backend() != "tensorflow":
            return super().train_step(*args)
        with replica_dropout():
            return super().train_step(*args)

    def compute_loss_and_updates(
        self,
        trainable_variables,
        non_trainable_variables,
        metrics_variables,
        x,
        y,
        sample_weight,
        training=False,
        optimizer_variables=None,
    ):
        """Computes the loss of a JAX step, on each device from its own rows."""

        def step(*arguments):
            variables, rows = arguments[:3], arguments[4:]
            return super(AlbertPretrainer, self).compute_loss_and_updates(
                *variables,
                *rows,
                training=training,
                optimizer_variables=arguments[3],
            )

        variables = (
            trainable_variables,
            non_trainable_variables,
            metrics_variables,
            optimizer_variables,
        )
        rows = (x, y, sample_weight)
        if training and rows_are_split() and self._has_whole_losses():
            return on_own_rows(step, variables, rows)
        return step(*variables, *rows)

    def _has_whole_losses(self):
        """Whether every loss knows of the other devices' targets."""
        losses = keras.tree.flatten(self._compile_loss._user_loss)
        return all(isinstance(each, WeightedCrossEntropy) for each in losses)


def _accuracy():
    return keras.metrics.SparseCategoricalAccuracy(name="accuracy")


def _as_tensors(values):
    return keras.tree.map_structure(
        lambda v: None if v is None else keras.ops.convert_to_tensor(v), values
    )
