"""One table of weight names per format, and filling a model from it.

A format is written down once, as data; reading and writing both follow it.
Every weight of a file must be used or listed as skipped, every variable of
the model must be set or belong to a part the file has not: anything else is
an error that names it, and nothing has been assigned by then.
"""

import dataclasses

import numpy as np

from keras_albert.conversion.model_variables import OPTIONAL_PARTS
from keras_albert.conversion.model_variables import part_of
from keras_albert.conversion.model_variables import split_layer
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.variable_memory import fill
from keras_albert.conversion.variable_memory import value_of

AS_IS = "as it is"
TRANSPOSED = "transposed"
# Attention kernels are (H, heads, H / heads) in some formats.
RESHAPED = "reshaped"
# Of the formats whose leaves are called and lie as ours.
PLAIN_LEAVES = {
    leaf: (f"/{leaf}", AS_IS) for leaf in ("kernel", "bias", "gamma", "beta")
}


def reshaped_attention(scope):
    """Returns the rows of an attention whose kernels have three axes.

    Args:
        scope: string. Where the four dense layers are; they have our names.

    Returns:
        Dict for `WeightNames.exact`.
    """
    return {
        f"layers/{name}/{leaf}": (f"{scope}/{name}/{leaf}", RESHAPED)
        for name in ("query", "key", "value", "attention_output")
        for leaf in ("kernel", "bias")
    }


@dataclasses.dataclass(frozen=True)
class WeightNames:
    """The names that a format gives to our variables.

    Attributes:
        scopes: dict from our scope (`layers/query`) to theirs, in which
            `{group}` and `{inner}` stand for the numbers of a layer.
        leaves: dict from our leaf (`kernel`) to `(suffix, form)`, the end of
            their name and how the array lies in their file.
        exact: dict from our whole name to `(name, form)`, for weights that
            follow no rule.
    """

    scopes: dict
    leaves: dict
    exact: dict = dataclasses.field(default_factory=dict)

    def row(self, name):
        """Returns `(their name, form)` of our variable `name`, or `None`."""
        group, inner, plain = split_layer(name)
        scope, _, leaf = plain.rpartition("/")
        if plain in self.exact:
            theirs, form = self.exact[plain]
        elif scope in self.scopes:
            suffix, form = self.leaves[leaf]
            theirs = self.scopes[scope] + suffix
        else:
            return None
        return theirs.format(group=group, inner=inner), form

    def head_names(self):
        """Returns the set of their names for the parts a file may lack."""
        names = {name for n, (name, _) in self.exact.items() if _is_head(n)}
        for scope, theirs in self.scopes.items():
            if _is_head(scope):
                names |= {theirs + suffix for suffix, _ in self.leaves.values()}
        return names


def assign_weights(variables, rows, source, skipped, kept=None):
    """Sets variables from a file, completely or not at all.

    Args:
        variables: dict from our name to Keras variable.
        rows: dict from our name to `(their name, form)`.
        source: `WeightFile`.
        skipped: dict from their name to the reason for leaving it out.
        kept: dict from their name to the reason for keeping it aside.

    Returns:
        `ConversionReport`, which also names the variables left as they are:
        those of parts of which the file has nothing.

    Raises:
        ValueError: naming each weight that is missing or left over, or whose
            shape does not fit. Nothing has been assigned then.
    """
    kept = kept or {}
    wanted = check_weights(variables, rows, source, {**skipped, **kept})
    new = {part_of(n) for n in variables if n not in wanted}
    # The largest first, while little else is there.
    for ours in sorted(wanted, key=lambda n: -np.prod(variables[n].shape)):
        theirs, form = wanted[ours]
        variable = variables[ours]
        fill(variable, to_form(source.read(theirs), form, variable.shape))
        source.release(theirs)
    return ConversionReport(
        loaded={
            source.spelled(theirs): ours for ours, (theirs, _) in wanted.items()
        },
        skipped={source.spelled(n): why for n, why in skipped.items()},
        kept={source.spelled(n): why for n, why in kept.items()},
        new=[n for n in variables if part_of(n) in new],
    )


def check_weights(variables, rows, source, left_out):
    """Checks names and shapes of a file, of which no value is read.

    Args:
        variables: dict from our name to Keras variable.
        rows: dict from our name to `(their name, form)`.
        source: `WeightFile`.
        left_out: their names that are for no variable.

    Returns:
        The part of `rows` that the file is to fill.

    Raises:
        ValueError: as `assign_weights`.
    """
    new = _absent_parts(variables, rows, source.shapes)
    wanted = {n: rows[n] for n in variables if part_of(n) not in new}
    names = [theirs for theirs, _ in wanted.values()]
    _check_names(names, source, left_out)
    for ours, (theirs, form) in wanted.items():
        _check_shape(theirs, source.shapes[theirs], form, variables[ours])
    return wanted


def to_form(array, form, shape):
    """Turns an array of a file into ours of `shape`, or the other way."""
    if form == TRANSPOSED:
        return np.transpose(array)
    return np.reshape(array, shape) if form == RESHAPED else array


def variable_as(variable, form):
    """Returns `(shape, read)` of a variable in a form of a file.

    `read()` gives the float32 array, in the variable's own memory where
    possible, so that many can wait to be written while none is held.
    """
    shape = tuple(variable.shape)

    def read():
        array = value_of(variable).astype("float32", copy=False)
        return to_form(array, form, shape)

    return shape[::-1] if form == TRANSPOSED else shape, read


def _is_head(name):
    return part_of(name) in OPTIONAL_PARTS


def _absent_parts(variables, rows, shapes):
    """Parts that a file may lack and of which it has not one weight."""
    present = {
        part_of(name)
        for name in variables
        if rows.get(name, (None,))[0] in shapes
    }
    return set(OPTIONAL_PARTS) - present


def _check_names(names, source, left_out):
    missing = sorted(set(names) - set(source.shapes))
    left_over = sorted(
        source.spelled(name)
        for name in set(source.shapes) - set(names) - set(left_out)
    )
    if missing or left_over:
        raise ValueError(
            "The checkpoint does not fit the model. "
            f"Missing in the checkpoint: {_listing(missing)}. "
            f"In the checkpoint alone: {_listing(left_over)}. "
            "Check that the configuration belongs to this checkpoint."
        )


def _check_shape(name, shape, form, variable):
    shape, expected = tuple(shape), tuple(variable.shape)
    fits = {
        AS_IS: shape == expected,
        TRANSPOSED: shape == expected[::-1],
        RESHAPED: np.prod(shape) == np.prod(expected),
    }
    if not fits[form]:
        shown = expected[::-1] if form == TRANSPOSED else expected
        raise ValueError(
            f"The shape of {name} does not fit the model. Received: "
            f"{shape}, expected {shown} for {variable.path}. Check that the "
            "configuration belongs to this checkpoint."
        )


def _listing(names, most=12):
    if len(names) > most:
        names = [*names[:most], f"and {len(names) - most} more"]
    return ", ".join(names) or "nothing"
