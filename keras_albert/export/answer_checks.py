"""Compares what an export answers with what the Python model answers."""

import dataclasses

import numpy as np

# Differences, relative to numbers that are larger than 1.
FLOAT32_TOLERANCE = 1e-5
# Vectors are sums of many products; probabilities are their smooth functions.
FLOAT32_VECTOR_TOLERANCE = 1e-4
# Eight bits in place of 24 through all layers: single numbers may be anywhere
# near, so that the mean of a signature's differences is judged.
BFLOAT16_TOLERANCE = 5e-2
VECTORS = ("pooled", "mean_pooled", "value", "outputs")


@dataclasses.dataclass(frozen=True)
class Differences:
    """How far the export's numbers lie from the Python model's.

    Args:
        largest: float, over all numbers of all signatures.
        mean: float.
        changed_labels: int. Rows of `serving_default` and `pair` whose label
            is another one.
        num_labels: int. Rows that were compared.
    """

    largest: float
    mean: float
    changed_labels: int
    num_labels: int


def check_finite(name, inputs, got):
    """Fails unless there is a finite answer for each row."""
    size = len(next(iter(inputs.values())))
    for output, values in got.items():
        where = f"Signature {name!r}, batch of {size}"
        if len(values) != size:
            raise ValueError(
                f"{where}: expected {size} rows of {output}, found shape "
                f"{values.shape}."
            )
        if values.dtype != object and not np.all(np.isfinite(values)):
            raise ValueError(f"{where}: {output} is not finite.")


def check_answer(name, want, certain, got, dtype):
    """Fails unless the answers of one call are the expected ones."""
    where = f"Signature {name!r}, batch of {len(next(iter(want.values())))}"
    for output, values in want.items():
        found = got[output]
        if found.shape != values.shape:
            raise ValueError(
                f"{where}: expected {output} of shape {values.shape}, found "
                f"{found.shape}."
            )
        if values.dtype == object:
            _check_strings(where, output, values, certain, found, dtype)
            continue
        if not np.all(np.isfinite(found)):
            raise ValueError(f"{where}: {output} is not finite.")
        difference, limit = _difference(output, found, values, dtype)
        if difference > limit:
            raise ValueError(
                f"{where}: {output} differs from the Python model's by "
                f"{difference:.2g}, more than {limit:.2g}."
            )
    if "probabilities" in got and "label" in got:
        _check_labels(where, got, want)


def _difference(output, found, values, dtype):
    """How far the numbers are off, and how far they may be."""
    relative = _relative(found, values)
    if values.dtype.kind == "i":
        return relative.max(initial=0.0), 0.0
    if dtype == "bfloat16":
        return relative.mean() if relative.size else 0.0, BFLOAT16_TOLERANCE
    limit = FLOAT32_TOLERANCE
    if output in VECTORS:
        limit = FLOAT32_VECTOR_TOLERANCE
    return relative.max(initial=0.0), limit


def _check_strings(where, output, values, certain, found, dtype):
    # Rounding changes the order of close candidates.
    sure = certain.get(output, np.ones(values.shape, "bool"))
    sure = sure & (dtype == "float32")
    wrong = sure & (found != values)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{where}: {output} should be {values[place]!r} at {place}, found "
            f"{found[place]!r}."
        )


def _check_labels(where, got, want):
    """The label is the one of the highest probability that is given."""
    labels, probabilities = got["label"], got["probabilities"]
    known = dict(
        zip(
            want["probabilities"].argmax(-1),
            want["label"],
            strict=True,
        )
    )
    for label, best in zip(labels, probabilities.argmax(-1), strict=True):
        if known.get(best, label) != label:
            raise ValueError(
                f"{where}: the label {label!r} is not that of the highest "
                f"probability, {known[best]!r}."
            )


def _relative(found, wanted):
    return np.abs(found - wanted) / np.maximum(np.abs(wanted), 1)


def differences(judged):
    """Sums up how far numbers and labels are off.

    Args:
        judged: list of `(signature, wanted, certain, found)`.

    Returns:
        `Differences`.
    """
    numbers = [
        _relative(got[output], values).reshape(-1)
        for _, want, _, got in judged
        for output, values in want.items()
        if values.dtype.kind == "f"
    ]
    numbers = np.concatenate([[0.0], *numbers])
    labels = [
        want["label"] != got["label"]
        for name, want, _, got in judged
        if name in ("serving_default", "pair") and "label" in want
    ]
    labels = np.concatenate([np.zeros(0, "bool"), *labels])
    return Differences(
        largest=float(numbers.max()),
        # Without the zero that was put in front.
        mean=float(numbers.sum() / max(1, len(numbers) - 1)),
        changed_labels=int(labels.sum()),
        num_labels=len(labels),
    )
