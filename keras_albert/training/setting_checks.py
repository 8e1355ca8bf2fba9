"""Whether the settings of a run are what they are meant to be."""

import math
import numbers
import os

import numpy as np


def check_counts(at_least=1, **counts):
    """Raises an error for what is not a whole number; `None` is left out.

    Args:
        at_least: int. The lowest that is allowed. Defaults to `1`.
        **counts: the settings by name.

    Raises:
        TypeError: for what is no whole number.
        ValueError: for one that is too low.
    """
    for name, value in counts.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(
                f"`{name}` must be a whole number. Received: {name}={value!r}."
            )
        if value < at_least:
            raise ValueError(
                f"`{name}` must be at least {at_least}. Received: "
                f"{name}={value}."
            )


def check_numbers(bounds, **values):
    """Raises an error for what is not a finite number; `None` is left out.

    Args:
        bounds: string. `"above 0"`, or `"at least 0"`, or either of them
            `"and below 1"`.
        **values: the settings by name.

    Raises:
        TypeError: for what is no number.
        ValueError: for one out of bounds.
    """
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(
                f"`{name}` must be a number. Received: {name}={value!r}."
            )
        is_low = value <= 0 if "above 0" in bounds else value < 0
        is_high = value >= 1 if "below 1" in bounds else False
        if is_low or is_high or not math.isfinite(value):
            raise ValueError(
                f"`{name}` must be a number {bounds}. Received: {name}={value}."
            )


def check_given(**values):
    """Raises `TypeError` for a setting that is `None` and has a default."""
    for name, value in values.items():
        if value is None:
            raise TypeError(
                f"`{name}` must be a number. Received: {name}=None. Leave it "
                "out for the default."
            )


def check_path(**values):
    """Raises `TypeError` for what is no path."""
    for name, value in values.items():
        if not isinstance(value, (str, os.PathLike)):
            raise TypeError(
                f"`{name}` must be a path. Received: {name}={value!r}."
            )


def plain_values(**settings):
    """Returns settings as a dict, with Python's numbers in place of NumPy's.

    JSON, and operations of TensorFlow that expect one type, take no others.

    Example:

    >>> plain_values(batch_size=np.int64(8), size="albert_base")
    {'batch_size': 8, 'size': 'albert_base'}
    """
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in settings.items()
    }
