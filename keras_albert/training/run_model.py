"""The model of a run: made, drawn from the seed, and compiled."""

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights


def make_run_model(settings, tokenizer):
    """Returns the compiled `AlbertPretrainer` that a run starts with.

    Args:
        settings: `RunSettings`.
        tokenizer: the tokenizer; it goes into the preset.
    """
    model = AlbertPretrainer(
        AlbertBackbone(**settings.backbone),
        preprocessor=AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=settings.sequence_length
        ),
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
    )
    return model
