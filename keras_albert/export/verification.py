"""Checks a SavedModel as a server would run it, before anyone relies on it."""

import dataclasses
from pathlib import Path

import numpy as np

from keras_albert.export.python_answers import as_bytes
from keras_albert.export.saved_graph import describe_operations
from keras_albert.export.saved_graph import describe_signature
from keras_albert.export.saved_graph import folder_size
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.saved_graph import signatures_of
from keras_albert.export.server_operations import unservable_operations
from keras_albert.export.session_calls import call_signatures
from keras_albert.export.warm_up_records import RECORDS_FILE
from keras_albert.export.warm_up_records import read_warm_up_records
from keras_albert.export.warm_up_records import sample_inputs

# What clients call most is tried in more sizes than the rest.
BATCH_SIZES = (0, 1, 3, 17)
FEW_BATCH_SIZES = (0, 3)
# Differences, relative to numbers that are larger than 1.
FLOAT32_TOLERANCE = 1e-5
# Vectors are sums of many products; probabilities are their smooth functions.
FLOAT32_VECTOR_TOLERANCE = 1e-4
# Eight bits in place of 24 through all layers: single numbers may be anywhere
# near, so that the mean of a signature's differences is judged.
BFLOAT16_TOLERANCE = 5e-2
VECTORS = ("pooled", "mean_pooled", "value", "outputs")
# Graph and index of a model that has hardly any weights.
OVERHEAD_BYTES = 8 * 2**20
INDEX_BYTES = 64 * 2**10
ODD_TEXTS = (
    "",
    "   ",
    "\t\n",
    "🙂🏳️‍🌈",
    "中文，没有空格。",
    "cafe\u0301 NAÏVE ﬁ",
    "a\x00b",
    "long " * 2000,  # 10,000 characters
    "x" * 10_000,
    b"\xff\xfe not UTF-8 \xc3",
)


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


def verify_saved_model(
    path, signatures, expected, *, weight_bytes, tokenizer_bytes=0, dtype
):
    """Checks that a SavedModel answers as the Python model does.

    A fresh process without TensorFlow's Python loads it as TensorFlow Serving
    does. Checked are the signatures, the operations, the size, the numbers of
    each signature in several batch sizes, none among them, and the warm-up
    records.

    Args:
        path: folder that holds `saved_model.pb`.
        signatures: dict as of `ServedTask.signatures`.
        expected: dict from signature to `Answers`.
        weight_bytes: int. Size of the weights as they should be stored.
        tokenizer_bytes: int. Size of the vocabulary.
        dtype: `"float32"` or `"bfloat16"`, which decides the tolerance.

    Returns:
        `Differences`.

    Raises:
        ValueError: names the first check that failed.
    """
    path = Path(path)
    graph = read_graph(path)
    check_operations(describe_operations(graph))
    check_signatures(signatures_of(graph), signatures)
    check_size(path, weight_bytes, tokenizer_bytes)

    planned = [
        (name, *answers.rows(rows))
        for name, answers in expected.items()
        for rows in planned_rows(name, len(answers))
    ]
    others = _unjudged_calls(path, signatures, expected)
    calls = [(name, inputs) for name, inputs, *_ in planned]
    found = call_signatures(path, [*calls, *others])

    for (name, inputs), got in zip(others, found[len(calls) :], strict=True):
        check_finite(name, inputs, got)
    judged = [
        (name, want, certain, got)
        for (name, _, want, certain), got in zip(planned, found, strict=False)
    ]
    for comparison in judged:
        check_answer(*comparison, dtype)
    return differences(judged)


def planned_rows(name, count):
    """Which rows of the expected answers go into which batch.

    Args:
        name: string. The signature.
        count: int. Number of rows.

    Returns:
        List of lists of int: the sizes of `BATCH_SIZES`, then what remains,
        so that each row is asked for.
    """
    sizes = BATCH_SIZES if name == "serving_default" else FEW_BATCH_SIZES
    remaining = max(1, count - sum(sizes))
    starts = np.cumsum([0, *sizes])
    return [
        [(start + i) % count for i in range(size)]
        for start, size in zip(starts, [*sizes, remaining], strict=True)
    ]


def check_texts(texts=()):
    """Lists texts and pairs for a check: the user's, then odd ones."""
    texts = [*texts, *ODD_TEXTS]
    return texts, list(zip(texts, [*texts[3:], *texts[:3]], strict=True))


def predict_saved_model(path, texts, text_pairs=None):
    """Classifies strings with a SavedModel, in a fresh process.

    Args:
        path: folder that holds `saved_model.pb`.
        texts: list of `str` or `bytes`.
        text_pairs: list of second texts, one for each of `texts`, or `None`.

    Returns:
        `(labels, probabilities)`: a list of `str` and a float32 array of
        shape `(len(texts), num_classes)`.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if it is no classifier's.
    """
    call = ("serving_default", {"text": as_bytes(texts)})
    if text_pairs is not None:
        columns = {
            "text_a": as_bytes(texts),
            "text_b": as_bytes(text_pairs),
        }
        call = ("pair", columns)
    (answer,) = call_signatures(Path(path), [call])
    if "label" not in answer:
        raise ValueError(
            f"The SavedModel in {path} gives {', '.join(answer)}, no labels. "
            "Export a classifier, or ask it through a server."
        )
    labels = [label.decode() for label in answer["label"]]
    return labels, answer["probabilities"].astype("float32")


def check_operations(operations):
    """Fails for operations that some server lacks."""
    unservable = unservable_operations(operations)
    if unservable:
        raise ValueError(
            "TensorFlow Serving has no implementation for the operations "
            f"{', '.join(unservable)} of this SavedModel."
        )


def check_signatures(found, wanted):
    """Fails unless the signatures are the promised ones."""
    found = {name: describe_signature(s) for name, s in found.items()}
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            raise ValueError(
                f"The signature {name!r} should be {wanted.get(name)}. "
                f"Found: {found.get(name)}."
            )


def check_size(path, weight_bytes, tokenizer_bytes):
    """Fails unless the weights are stored as variables, and once."""
    stored = folder_size(path / "variables")
    if not weight_bytes <= stored <= 1.1 * weight_bytes + INDEX_BYTES:
        raise ValueError(
            f"The weights take {weight_bytes} bytes, but the SavedModel stores "
            f"{stored} bytes of variables; they should stand in it once."
        )
    total = folder_size(path)
    # TensorFlow writes a SentencePiece model into the graph twice.
    limit = 1.1 * weight_bytes + 3 * tokenizer_bytes + OVERHEAD_BYTES
    if total > limit:
        raise ValueError(
            f"The SavedModel takes {total} bytes for {weight_bytes} bytes of "
            f"weights and {tokenizer_bytes} of vocabulary; at most "
            f"{limit:.0f} were expected."
        )


def _unjudged_calls(path, signatures, expected):
    """Warm-up records, and masks that hide every token."""
    calls = []
    if (path / RECORDS_FILE).is_file():
        calls += read_warm_up_records(path)
    if "tokens" in expected:
        hidden = sample_inputs(signatures["tokens"]["inputs"], 2)
        hidden["padding_mask"] *= 0
        calls.append(("tokens", hidden))
    return calls


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
