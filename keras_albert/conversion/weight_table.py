"""Filling a model from a table of names, completely or not at all.

A table lists `(source name, variable, transform)`: the name in the other
format, the variable of ours it fills, and how the array is turned. Every
source weight must be used or listed as skipped, every variable must be set.
"""


def assign_weights(table, source, skipped=()):
    """Sets every variable of the table from the source's arrays.

    Nothing is assigned unless everything fits.

    Args:
        table: list of `(name, variable, transform)`; `transform` is a
            function of an array, or `None`.
        source: dict from name to NumPy array.
        skipped: iterable of source names that are left out on purpose.

    Raises:
        ValueError: naming each source weight that is missing or left over, or
            whose shape does not fit.
    """
    names = [name for name, _, _ in table]
    missing = sorted(set(names) - set(source))
    left_over = sorted(set(source) - set(names) - set(skipped))
    if missing or left_over:
        raise ValueError(
            "The checkpoint does not fit the model. "
            f"Missing in the checkpoint: {', '.join(missing) or 'nothing'}. "
            f"In the checkpoint alone: {', '.join(left_over) or 'nothing'}. "
            "Check that the configuration belongs to this checkpoint."
        )
    arrays = [
        source[name] if transform is None else transform(source[name])
        for name, _, transform in table
    ]
    for (name, variable, _), array in zip(table, arrays, strict=True):
        if tuple(array.shape) != tuple(variable.shape):
            raise ValueError(
                f"The shape of {name} does not fit the model. Received: "
                f"{tuple(array.shape)}, expected {tuple(variable.shape)} for "
                f"{variable.path}. Check that the configuration belongs to "
                "this checkpoint."
            )
    for (_, variable, _), array in zip(table, arrays, strict=True):
        variable.assign(array)
