"""The model of a run: made, drawn from the seed, and compiled."""

import keras

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.training.micro_batches import PartialCrossEntropy
from keras_albert.training.micro_batches import TargetAccuracy
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights
from keras_albert.training.step_metrics import step_metrics


def make_run_model(settings, tokenizer):
    """Returns the compiled `AlbertPretrainer` that a run starts with.

    Args:
        settings: `RunSettings`.
        tokenizer: the tokenizer; it goes into the preset. `None` for a model
            that is planned and not saved.
    """
    preprocessor = None
    if tokenizer is not None:
        preprocessor = AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=settings.sequence_length
        )
    model = AlbertPretrainer(
        AlbertBackbone(**settings.backbone), preprocessor=preprocessor
    )
    seed_weights(
        model.trainable_variables,
        settings.seed,
        model.backbone.initializer_range,
    )
    seed_dropout(model, settings.seed)
    model.compile(
        make_optimizer(**settings.optimizer),
        loss_weights={
            "masked_lm": 1.0,
            "sentence_order": settings.sentence_order_weight,
        },
        jit_compile=settings.jit_compile,
        **_losses_and_metrics(in_parts=settings.accumulate > 1),
    )
    return model


def _losses_and_metrics(in_parts):
    """The arguments of `compile` for whole batches, or for parts of them."""
    heads = ("masked_lm", "sentence_order")
    accuracy = (
        TargetAccuracy if in_parts else keras.metrics.SparseCategoricalAccuracy
    )
    metrics = {
        head: [accuracy(name="accuracy"), *step_metrics(divide=not in_parts)]
        for head in heads
    }
    if not in_parts:
        return {"weighted_metrics": metrics}
    return {
        "loss": {head: PartialCrossEntropy() for head in heads},
        "weighted_metrics": metrics,
    }
