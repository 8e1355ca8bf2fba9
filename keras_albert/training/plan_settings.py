"""The settings of a run that is planned: those of `pretrain`, without data."""

from keras_albert.models.config import AlbertConfig
from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.run_settings import resolve_settings

DEFAULT_LENGTH = 128
DEFAULT_VOCABULARY = 30000


class PlannedText:
    """Stands where a run has its text: a vocabulary's size and a length.

    Args:
        vocabulary_size: int.
    """

    sequence_length = DEFAULT_LENGTH

    def __init__(self, vocabulary_size):
        self._vocabulary_size = vocabulary_size

    @property
    def tokenizer(self):
        """What is asked for the size of the vocabulary."""
        return self

    def vocabulary_size(self):
        """Returns the number of token ids."""
        return self._vocabulary_size

    def open(self, spans, batch_settings):
        """Opens nothing."""


def planned_settings(
    *,
    size=None,
    config=None,
    vocabulary_size=None,
    recipe=None,
    steps=None,
    batch_size=32,
    accumulate=1,
    sequence_length=None,
    optimizer=None,
    dtype=None,
    unroll=None,
    remat=None,
    ema_momentum=None,
):
    """Returns the `RunSettings` that `pretrain` would take.

    Args:
        size, …, ema_momentum: as in `pretrain`.
        vocabulary_size: int. Defaults to the published size's, to the
            configuration's, or to 30,000.

    Raises:
        ValueError, FileNotFoundError: for what does not fit together.
    """
    if isinstance(config, dict):
        config = AlbertConfig(**config)
    elif config is not None and not isinstance(config, AlbertConfig):
        config = AlbertConfig.from_file(config)
    if vocabulary_size is None:
        vocabulary_size = _usual_vocabulary(size, config)
    return resolve_settings(
        PlannedText(vocabulary_size),
        recipe=recipe,
        steps=steps,
        size=size,
        config=config,
        batch_size=batch_size,
        accumulate=accumulate,
        sequence_length=sequence_length,
        phases=None,
        optimizer=optimizer,
        learning_rate=None,
        warmup_steps=None,
        weight_decay=0.01,
        clip_norm=1.0,
        ema_momentum=ema_momentum,
        dtype=dtype,
        unroll=unroll,
        remat=remat,
        objective="sop",
        sentence_order_weight=1.0,
        seed=0,
        evaluation_every=None,
        evaluation_passes=1,
        checkpoint_every=None,
        jit_compile="auto",
        tensorboard=False,
    )


def _usual_vocabulary(size, config):
    if size is not None:
        return backbone_arguments(size)["vocabulary_size"]
    return getattr(config, "vocabulary_size", None) or DEFAULT_VOCABULARY
