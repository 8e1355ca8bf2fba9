"""The settings of a run that is planned: those of `pretrain`, without data."""

import dataclasses
import inspect

from keras_albert.models.config import AlbertConfig
from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.phases import Phase
from keras_albert.training.pretrain import pretrain
from keras_albert.training.run_settings import RunSettings
from keras_albert.training.run_settings import as_config
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


def planned_settings(*, vocabulary_size=None, **settings):
    """Returns the `RunSettings` that `pretrain` would take.

    Args:
        vocabulary_size: int. Defaults to the published size's, to the
            configuration's, or to 30,000.
        **settings: as in `pretrain`, with its defaults; all but text, output,
            devices and what watches a run.

    Raises:
        TypeError: for a setting that `pretrain` does not have, or that says
            nothing of its steps.
        ValueError, FileNotFoundError: for what does not fit together.
    """
    defaults = run_defaults()
    unknown = sorted(set(settings) - set(defaults))
    if unknown:
        raise TypeError(
            f"A plan has no setting {', '.join(unknown)}. It takes these of "
            f"`pretrain`: vocabulary_size, {', '.join(defaults)}."
        )
    settings = {**defaults, **settings}
    config = settings["config"]
    if config is not None:
        config = as_config(config)
    if vocabulary_size is None:
        vocabulary_size = _usual_vocabulary(settings["size"], config)
    return resolve_settings(
        PlannedText(vocabulary_size), **{**settings, "config": config}
    )


def run_defaults():
    """Returns `pretrain`'s defaults of the settings that make up a run."""
    resolved = {
        *inspect.signature(resolve_settings).parameters,
        *(field.name for field in dataclasses.fields(RunSettings)),
    }
    return {
        name: parameter.default
        for name, parameter in inspect.signature(pretrain).parameters.items()
        if name in resolved
    }


def _usual_vocabulary(size, config):
    if size is not None:
        return backbone_arguments(size)["vocabulary_size"]
    return getattr(config, "vocabulary_size", None) or DEFAULT_VOCABULARY


def to_plain(settings):
    """Returns settings as JSON has them: no paths, no objects.

    Args:
        settings: dict of arguments of `planned_settings`.
    """
    plain = dict(settings)
    config, phases = plain.get("config"), plain.get("phases")
    if isinstance(config, AlbertConfig):
        plain["config"] = config.model_dump()
    elif config is not None and not isinstance(config, dict):
        plain["config"] = str(config)
    if phases is not None and not isinstance(phases, str):
        plain["phases"] = [dataclasses.asdict(phase) for phase in phases]
    return plain


def from_plain(plain):
    """Returns the arguments of `planned_settings` that `to_plain` was given."""
    phases = plain.get("phases")
    if phases is None or isinstance(phases, str):
        return plain
    return {**plain, "phases": [Phase(**phase) for phase in phases]}
