"""Classification of a text or a pair of texts."""

from pathlib import Path

import keras
import keras_hub
import numpy as np

from keras_albert.layers.initialization import kernel_initializer
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.memory_examples import class_ids
from keras_albert.models.memory_examples import clean_texts
from keras_albert.models.memory_examples import example_count
from keras_albert.models.task import AlbertTask
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.tokenizers.vocabulary_folder import read_json


def default_learning_rate(hidden_dim):
    """Returns a fine-tuning rate that ALBERT of this width bears.

    One layer receives every layer's gradient, so ALBERT diverges at rates
    that suit BERT, the more the wider it is: keras-hub's reports of chance
    accuracy at 5e-5 were cured by 1e-5 and 5e-6. Narrow models, trained from
    little text, need more.

    Args:
        hidden_dim: int. H of the backbone.

    Returns:
        Float. 5e-6 from H = 2048 (xlarge) on, 1e-5 from 1024, 2e-5 from 768
        (base), 5e-5 from 384, else 2e-4.
    """
    for width, rate in ((2048, 5e-6), (1024, 1e-5), (768, 2e-5), (384, 5e-5)):
        if hidden_dim >= width:
            return rate
    return 2e-4


@keras.saving.register_keras_serializable("keras_albert")
class AlbertTextClassifier(AlbertTask, keras_hub.models.TextClassifier):
    """ALBERT with a classification head on the pooled output.

    With a preprocessor, `fit`, `evaluate` and `predict` take raw strings:
    one string per example, or a pair of lists `(first, second)`. Without,
    they take the backbone's three inputs.

    Args:
        backbone: `AlbertBackbone`.
        num_classes: int or None. Number of classes; `None` takes the number
            of `labels`, and 1 makes a regressor, whose target is a number.
        preprocessor: `AlbertTextClassifierPreprocessor` or `None`.
        activation: string or None. `None` returns logits, `"softmax"`
            probabilities. Defaults to `None`.
        dropout: float. Rate on the pooled output, kept apart from the
            encoder's (v2 models have 0 there and 0.1 here). Defaults to
            `0.1`.
        labels: list of strings or None. The classes' names, in id order; they
            are saved with the model and answer in its exports.

    Call arguments:
        inputs: dict of int32 tensors of shape `(batch_size,
            sequence_length)`: `token_ids`, `segment_ids`, `padding_mask`.
        training: bool. Whether dropout is active.

    Returns:
        Float32 tensor of shape `(batch_size, num_classes)`.

    Raises:
        ValueError: if neither or both of unequal `num_classes` and `labels`
            are given.

    Reference:
        Google's `create_model` in `classifier_utils.py`.
    """

    backbone_cls = AlbertBackbone
    preprocessor_cls = AlbertTextClassifierPreprocessor

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        activation=None,
        dropout=0.1,
        labels=None,
        **kwargs,
    ):
        num_classes = _num_classes(num_classes, labels)

        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.output_dropout = keras.layers.Dropout(
            dropout, dtype=backbone.dtype_policy, name="output_dropout"
        )
        self.logits = keras.layers.Dense(
            num_classes,
            activation=activation,
            kernel_initializer=kernel_initializer(backbone.initializer_range),
            # Few numbers, and their differences are the answer.
            dtype="float32",
            name="logits",
        )

        # === Functional model ===
        pooled_output = backbone(backbone.input)["pooled_output"]
        outputs = self.logits(self.output_dropout(pooled_output))
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)

        # === Config ===
        self.num_classes = num_classes
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.labels = None if labels is None else [str(n) for n in labels]

    @classmethod
    def _from_own_preset(cls, preset, **kwargs):
        if "num_classes" not in kwargs and kwargs.get("labels") is not None:
            _check_stored_head(Path(preset), kwargs["labels"], cls.__name__)
        return super()._from_own_preset(preset, **kwargs)

    def compile(
        self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs
    ):
        """Configures fine-tuning, with defaults for all that is left out.

        Args:
            optimizer: `"auto"` is Adam at `default_learning_rate`, gradients
                clipped to a global norm of 1.
            loss: `"auto"` is sparse categorical cross-entropy; for a regressor,
                which has one class, mean squared error.
            metrics: `"auto"` is accuracy; for a regressor, mean absolute error.
            **kwargs: as `keras.Model.compile`.
        """
        # Exports, too, serve the one value of such a model.
        is_regressor = self.logits.units == 1
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(
                default_learning_rate(self.backbone.hidden_dim),
                global_clipnorm=1.0,
            )
        if loss == "auto" and is_regressor:
            loss = keras.losses.MeanSquaredError()
        elif loss == "auto":
            # keras-hub looks at `activation`, which is not set yet where the
            # constructor compiles, and would apply softmax twice.
            loss = keras.losses.SparseCategoricalCrossentropy(
                self.logits.activation is not keras.activations.softmax
            )
        if metrics == "auto" and is_regressor:
            metrics = [keras.metrics.MeanAbsoluteError()]
        elif metrics == "auto":
            metrics = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        super().compile(
            optimizer=optimizer, loss=loss, metrics=metrics, **kwargs
        )

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        sample_weight=None,
        shuffle=True,
        **kwargs,
    ):
        """Trains the classifier; examples in memory are shuffled each epoch.

        keras-hub's tasks leave them in the order given, in which texts sorted
        by label train badly.

        Args:
            x: strings or a pair of lists of them; arrays of ids where there
                is no preprocessor; or a dataset, which is taken as it is.
            y: labels, where `x` is not a dataset: ints, or names out of the
                model's `labels`.
            batch_size: int. Defaults to 32.
            sample_weight: weights, where `x` is not a dataset.
            shuffle: bool. Defaults to `True`.
            **kwargs: as `keras.Model.fit`.
        """
        x, y = self._examples(x, y)
        if isinstance(kwargs.get("validation_data"), (tuple, list)):
            data = kwargs["validation_data"]
            kwargs["validation_data"] = (*self._examples(*data[:2]), *data[2:])
        else:
            _check_dataset(kwargs.get("validation_data"))
        in_memory = y is not None and "validation_split" not in kwargs
        if in_memory and shuffle:
            x = _shuffled_dataset((x, y, sample_weight), batch_size or 32)
            y = sample_weight = batch_size = None
        return super().fit(
            x,
            y,
            batch_size=batch_size,
            sample_weight=sample_weight,
            shuffle=False,
            **kwargs,
        )

    def evaluate(
        self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs
    ):
        """Measures the loss and the metrics.

        Args:
            x, y, sample_weight: as in `fit`.
            batch_size: int. Defaults to 32.
            **kwargs: as `keras.Model.evaluate`.
        """
        x, y = self._examples(x, y)
        return super().evaluate(x, y, batch_size, sample_weight, **kwargs)

    def predict(self, x=None, batch_size=None, **kwargs):
        """Answers for each example.

        Args:
            x: as in `fit`.
            batch_size: int. Defaults to 32.
            **kwargs: as `keras.Model.predict`.

        Returns:
            Float32 array of shape `(num_examples, num_classes)`.
        """
        if example_count(x) == 0:
            return np.zeros((0, self.num_classes), "float32")
        if self.preprocessor is not None:
            x = clean_texts(x)
        return super().predict(x, batch_size=batch_size, **kwargs)

    def _examples(self, x, y=None):
        """Texts as UTF-8 can hold them, and labels as numbers."""
        if example_count(x) == 0:
            raise ValueError(
                "There are no examples. Received: `x` without a row. Give at "
                "least one text and its label."
            )
        _check_dataset(x)
        if self.preprocessor is not None:
            x = clean_texts(x)
        return x, class_ids(y, self.labels)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "num_classes": self.num_classes,
                "activation": keras.activations.serialize(self.activation),
                "dropout": self.dropout,
                "labels": None if self.labels is None else list(self.labels),
            }
        )
        return config


def _shuffled_dataset(samples, batch_size):
    import tensorflow as tf

    samples = keras.utils.pack_x_y_sample_weight(*samples)
    dataset = tf.data.Dataset.from_tensor_slices(samples)
    # From Keras's generator, so that its seed fixes the order too.
    seed = int(keras.random.randint((), 0, 2**31 - 1, dtype="int32"))
    return dataset.shuffle(dataset.cardinality(), seed=seed).batch(batch_size)


def _check_stored_head(folder, labels, class_name):
    task = read_json(folder / "task.json") or {}
    stored = (task.get("config") or {}).get("num_classes")
    if task.get("class_name") != class_name or stored in (None, len(labels)):
        return
    raise ValueError(
        f"The preset {folder} has a head for {stored} classes. Received: "
        f"{len(labels)} labels, {list(labels)}. Give {stored} labels, or for "
        f"a new head also num_classes={len(labels)}."
    )


def _check_dataset(x):
    spec = getattr(x, "element_spec", None)
    is_labelled = isinstance(spec, tuple) and len(spec) > 1
    if is_labelled and "string" in str(getattr(spec[1], "dtype", "")):
        raise ValueError(
            "A dataset must have numbers as labels. Received: strings. Map "
            "them to their place in `labels`; a pair of texts is one element, "
            "as in `((text_a, text_b), label)`."
        )


def _num_classes(num_classes, labels):
    if num_classes is None and labels is None:
        raise ValueError(
            "A classifier needs `num_classes` or `labels`. Received neither. "
            "Pass num_classes=2, or labels=['negative', 'positive']."
        )
    if num_classes is None:
        return len(labels)
    if labels is not None and len(labels) != num_classes:
        raise ValueError(
            "`labels` must name each class once. Received: "
            f"num_classes={num_classes} and {len(labels)} labels, "
            f"{list(labels)}. Leave `num_classes` out."
        )
    return num_classes
