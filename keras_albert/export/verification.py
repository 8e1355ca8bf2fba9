"""Checks a SavedModel as a server would run it, before anyone relies on it."""

from pathlib import Path

import numpy as np

from keras_albert.export.answer_checks import check_answer
from keras_albert.export.answer_checks import check_finite
from keras_albert.export.answer_checks import differences
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
