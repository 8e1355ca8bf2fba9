"""A checkpoint of another library that has been opened, not yet loaded."""

import dataclasses
from typing import Any

import numpy as np

from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.model_variables import part_of
from keras_albert.conversion.variable_memory import Unfilled
from keras_albert.conversion.weight_table import assign_weights
from keras_albert.conversion.weight_table import check_weights
from keras_albert.conversion.weight_table import to_form
from keras_albert.layers.initialization import filled_later
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)

MODELS = {
    "backbone": AlbertBackbone,
    "pretrainer": AlbertPretrainer,
    "classifier": AlbertTextClassifier,
}


@dataclasses.dataclass
class Source:
    """What a checkpoint holds, in our terms.

    Attributes:
        kind: string. The format, such as `"google"`.
        arguments: dict. Arguments of `AlbertBackbone`.
        names: `WeightNames` of the format.
        weights: a weight file, see `weight_files`, under the format's names.
        task: string. Which of our models fits its heads: a key of `MODELS`.
        task_arguments: dict. Further arguments of that model.
        skipped: dict from a name to why it is left out.
        kept: dict from a name to why it is kept aside.
        tokenizer: a tokenizer of ours, or `None`.
        architecture: string or `None`. The class it was saved as there.
        settings: dict. Entries of its configuration that say nothing to us.
        notes: list of sentences for the report.
    """

    kind: str
    arguments: dict
    names: Any
    weights: Any
    task: str = "backbone"
    task_arguments: dict = dataclasses.field(default_factory=dict)
    skipped: dict = dataclasses.field(default_factory=dict)
    kept: dict = dataclasses.field(default_factory=dict)
    tokenizer: Any = None
    architecture: str | None = None
    settings: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)

    def has(self, name):
        """Whether the file holds our variable `name`."""
        row = self.names.row(name)
        return row is not None and row[0] in self.weights.shapes

    def read(self, name):
        """Returns the array of our variable `name`, or `None` without it.

        It lies as ours does, but an attention kernel may have three axes.
        """
        if not self.has(name):
            return None
        row = self.names.row(name)
        array = self.weights.read(row[0])
        return to_form(array, row[1], array.shape)


@dataclasses.dataclass
class Converted:
    """A model of ours made from a source.

    Attributes:
        model: `AlbertBackbone`, `AlbertPretrainer` or
            `AlbertTextClassifier`.
        tokenizer: a tokenizer of ours, or `None`.
        report: `ConversionReport`.
        kept: dict from a name of the source to the array kept aside.
        kind: string. The format it came from.
        architecture: string or `None`. The class it was saved as there.
        settings: dict. Entries of its configuration that say nothing to us.
    """

    model: Any
    tokenizer: Any
    report: Any
    kept: dict
    kind: str
    architecture: str | None = None
    settings: dict = dataclasses.field(default_factory=dict)

    def added_here(self, kind):
        """Names of our variables that a file of `kind` came without."""
        return self.report.new if kind == self.kind else []

    def kept_from(self, kind):
        """The arrays kept aside, if they belong in a file of `kind`."""
        return self.kept if kind == self.kind else {}

    def settings_from(self, kind):
        """The settings kept aside, if they belong in a file of `kind`."""
        return self.settings if kind == self.kind else {}


def load(source, task=None, seed=0, backbone=None, **task_arguments):
    """Builds a model of ours and fills it from a source.

    Args:
        source: `Source`.
        task: string. A key of `MODELS`, to take the place of the model that
            fits the source's heads: what it has not is new, what it does not
            want is skipped.
        seed: int. Draws the weights of what is new.
        backbone: dict. Arguments that replace the source's, such as `dtype`.
        **task_arguments: arguments of the model, such as `num_classes`.

    Returns:
        `Converted`.

    Raises:
        ValueError: if a weight is missing, left over or of a wrong shape, or
            the tokenizer has more pieces than the model.
    """
    _check_vocabulary(source)
    arguments = {**source.arguments, **(backbone or {})}
    with filled_later(Unfilled()):
        model = build(source, task or source.task, arguments, task_arguments)
    variables = model_variables(model)
    rows = {n: row for n in variables if (row := source.names.row(n))}
    if {"num_classes", "labels"} & set(task_arguments):
        # Other classes than those of the source's head: it is made anew.
        rows = {n: r for n, r in rows.items() if part_of(n) != "classifier"}
    unwanted = _unwanted_heads(source, rows)
    report = assign_weights(
        variables,
        rows,
        source.weights,
        {**source.skipped, **unwanted},
        source.kept,
    )
    report.notes = list(source.notes)
    _draw(variables, report.new, arguments, seed)
    return Converted(
        model=model,
        tokenizer=source.tokenizer,
        report=report,
        kept={name: source.weights.read(name) for name in source.kept},
        kind=source.kind,
        architecture=source.architecture,
        settings=source.settings,
    )


def check_fits(source):
    """Checks that a source's weights fit its configuration.

    No value is read, and what is built for it takes next to no memory.

    Args:
        source: `Source`.

    Raises:
        ValueError: as `load`.
    """
    with filled_later(Unfilled()):
        model = build(source, source.task, source.arguments, {})
    variables = model_variables(model)
    rows = {n: row for n in variables if (row := source.names.row(n))}
    left_out = {**source.skipped, **source.kept}
    left_out |= _unwanted_heads(source, rows)
    check_weights(variables, rows, source.weights, left_out)


def build(source, task, arguments, task_arguments):
    """Builds a model of ours for a source, its weights still random.

    Args:
        source: `Source`.
        task: string. A key of `MODELS`.
        arguments: dict of arguments of `AlbertBackbone`.
        task_arguments: dict of arguments of the model; the source's fill in.

    Returns:
        The model.
    """
    backbone = AlbertBackbone(**arguments)
    if task == "backbone":
        return backbone
    arguments = dict(task_arguments)
    if task == source.task:
        fitting = dict(source.task_arguments)
        if {"num_classes", "labels"} & set(arguments):
            fitting.pop("num_classes", None)
            fitting.pop("labels", None)
        arguments = {**fitting, **arguments}
    if "preprocessor" not in arguments and source.tokenizer is not None:
        arguments["preprocessor"] = AlbertTextClassifierPreprocessor(
            source.tokenizer, sequence_length=backbone.max_sequence_length
        )
    return MODELS[task](backbone, **arguments)


def _unwanted_heads(source, rows):
    """Heads of the source that the model asked for does not have."""
    used = {theirs for theirs, _ in rows.values()}
    heads = source.names.head_names() & set(source.weights.shapes)
    return dict.fromkeys(
        sorted(heads - used - set(source.kept)),
        "the model asked for has no such head",
    )


def _check_vocabulary(source):
    if source.tokenizer is None:
        return
    pieces = source.tokenizer.vocabulary_size()
    rows = source.arguments["vocabulary_size"]
    if pieces > rows:
        raise ValueError(
            f"The tokenizer has {pieces} pieces, the model {rows} rows for "
            "them, so it is not the model's. Put the vocabulary that the "
            "model was trained with beside it."
        )
    if pieces < rows:
        source.notes.append(
            f"The tokenizer has {pieces} pieces, the model {rows} rows: the "
            "last ones are never used."
        )


def _draw(variables, names, arguments, seed):
    """Gives new kernels seeded values, so that two conversions are equal."""
    generator = np.random.default_rng(seed)
    scale = arguments.get("initializer_range", 0.02)
    for name in names:
        variable = variables[name]
        if name.endswith("/kernel"):
            noise = generator.normal(size=variable.shape)
            # A normal distribution cut at two deviations, as at the start.
            while (far := np.abs(noise) > 2).any():
                noise[far] = generator.normal(size=far.sum())
            variable.assign((scale * noise).astype("float32"))
