"""Checks a SavedModel in a fresh process before anyone relies on it."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from keras_albert.export.server_operations import unservable_operations

BATCH_SIZES = (0, 1, 3, 17)
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
    path,
    texts,
    expected,
    *,
    text_pairs=None,
    expected_pairs=None,
    labels=None,
    weight_bytes=None,
    tokenizer_bytes=0,
    tolerance=1e-5,
):
    """Checks that a SavedModel answers as the Python model does.

    A fresh process that imports only TensorFlow and TensorFlow Text loads it
    twice: into a session, which is what TensorFlow Serving runs, and with
    `tf.saved_model.load`. Checked are the signatures, the operations, batches
    of 0, 1, 3 and 17 rows, odd strings and the size.

    Args:
        path: folder that holds `saved_model.pb`.
        texts: list of `str` or `bytes`.
        expected: array of shape `(len(texts), num_classes)`: probabilities
            from the Python model.
        text_pairs: list of `(text_a, text_b)`; checks `pair` too.
        expected_pairs: array of shape `(len(text_pairs), num_classes)`.
        labels: list of class names; `"0"`, `"1"`, ... where `None`.
        weight_bytes: int. Size of the weights in memory; `None` skips the
            check of the file size.
        tokenizer_bytes: int. Size of the vocabulary.
        tolerance: float. Largest difference of a probability.

    Raises:
        ValueError: names the first check that failed.
    """
    path = Path(path)
    expected = _probabilities(expected, texts, "texts")
    num_classes = expected.shape[1]
    names = [str(i) for i in range(num_classes)] if labels is None else labels
    tables = {"serving_default": ([(t,) for t in texts], expected)}
    if text_pairs is not None:
        pairs = _probabilities(expected_pairs, text_pairs, "text_pairs")
        tables["pair"] = (list(text_pairs), pairs)
    calls, answers = _planned_calls(tables)
    few = [i for i, want in enumerate(answers) if len(want) <= 3]

    reply = _run_fresh(path, calls, loaded_calls=[calls[i] for i in few])

    _check_surroundings(reply)
    _check_signatures(reply["signatures"], num_classes)
    _check_size(path, weight_bytes, tokenizer_bytes)
    for call, want, got in zip(calls, answers, reply["answers"], strict=True):
        _check_answer(call, want, got, names, tolerance)
    for i, got in zip(few, reply["loaded_answers"], strict=True):
        _check_answer(calls[i], answers[i], got, names, tolerance)


def predict_saved_model(path, texts, text_pairs=None):
    """Classifies strings with a SavedModel, in a fresh process.

    Args:
        path: folder that holds `saved_model.pb`.
        texts: list of `str` or `bytes`.
        text_pairs: list of second texts, one for each of `texts`, or `None`.

    Returns:
        `(labels, probabilities)`: a list of `str` and a float32 array of
        shape `(len(texts), num_classes)`.
    """
    rows = [(t,) for t in texts]
    if text_pairs is not None:
        rows = list(zip(texts, text_pairs, strict=True))
    signature = "serving_default" if text_pairs is None else "pair"
    reply = _run_fresh(Path(path), [_call(signature, rows)])
    return _decode_answer(reply["answers"][0])


def check_texts(texts=()):
    """Lists texts and pairs for a check: the user's, then odd ones."""
    texts = [*texts, *ODD_TEXTS]
    return texts, list(zip(texts, [*texts[3:], *texts[:3]], strict=True))


def _probabilities(values, rows, name):
    values = np.asarray(values, "float32")
    if values.ndim != 2 or len(values) != len(rows) or not len(rows):
        raise ValueError(
            f"The expected probabilities must have one row for each of `{name}`"
            f" and one column a class. Received: {len(rows)} {name} and an "
            f"array of shape {values.shape}."
        )
    return values


def _planned_calls(tables):
    """Cuts each table into batches of the checked sizes, all rows in one."""
    calls, answers = [], []
    for signature, (rows, expected) in tables.items():
        start = 0
        remaining = max(1, len(rows) - sum(BATCH_SIZES))
        for size in (*BATCH_SIZES, remaining):
            picked = [(start + i) % len(rows) for i in range(size)]
            calls.append(_call(signature, [rows[i] for i in picked]))
            answers.append(expected[picked])
            start += size
    return calls, answers


def _call(signature, rows):
    inputs = {"serving_default": ["text"], "pair": ["text_a", "text_b"]}
    columns = zip(*rows, strict=True) if rows else [()] * 2
    return {
        "signature": signature,
        "inputs": {
            name: [base64.b64encode(_as_bytes(t)).decode() for t in column]
            for name, column in zip(inputs[signature], columns, strict=False)
        },
    }


def _as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def _run_fresh(path, calls, loaded_calls=None):
    if not (path / "saved_model.pb").is_file():
        raise FileNotFoundError(
            f"No SavedModel in {path}: the file saved_model.pb is missing. "
            "Give the folder of one version, such as `model/1`."
        )
    script = Path(__file__).with_name("fresh_process.py")
    with tempfile.TemporaryDirectory() as folder:
        request, reply = Path(folder, "request.json"), Path(folder, "reply")
        request.write_text(
            json.dumps(
                {
                    "folder": str(path.resolve()),
                    "calls": calls,
                    "loaded_calls": loaded_calls,
                    "check": loaded_calls is not None,
                }
            )
        )
        # -P keeps this folder, and with it our module names, off sys.path.
        run = subprocess.run(
            [sys.executable, "-P", str(script), str(request), str(reply)],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            errors="replace",
        )
        if run.returncode != 0:
            raise ValueError(
                f"The SavedModel in {path} does not run in a fresh process: "
                f"{last_error(run.stderr)}"
            )
        return json.loads(reply.read_text())


def _decode_answer(answer):
    label, probabilities = answer["label"], answer["probabilities"]
    labels = [base64.b64decode(value).decode() for value in label["values"]]
    values = np.array(probabilities["values"], "float32")
    return labels, values.reshape(probabilities["shape"])


def last_error(stderr):
    """Picks the line of a traceback that says what went wrong."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    for line in reversed(lines):
        head = line.split(":")[0].split(".")[-1]
        if not line.startswith(" ") and head.endswith(("Error", "Exception")):
            return line
    return lines[-1] if lines else "it ended without a message."


def _check_surroundings(reply):
    if reply["modules"]:
        raise ValueError(
            "The check ran with more than TensorFlow and TensorFlow Text: "
            f"{', '.join(reply['modules'])}."
        )
    unservable = unservable_operations(reply["operations"])
    if unservable:
        raise ValueError(
            "TensorFlow Serving has no implementation for the operations "
            f"{', '.join(unservable)} of this SavedModel."
        )


def _check_signatures(signatures, num_classes):
    outputs = {
        "label": ["string", [-1]],
        "probabilities": ["float32", [-1, num_classes]],
    }
    for name, inputs in (
        ("serving_default", ["text"]),
        ("pair", ["text_a", "text_b"]),
    ):
        want = {
            "inputs": {i: ["string", [-1]] for i in inputs},
            "outputs": outputs,
        }
        if signatures.get(name) != want:
            raise ValueError(
                f"The signature {name!r} should be {want}. "
                f"Found: {signatures.get(name)}."
            )


def _check_size(path, weight_bytes, tokenizer_bytes):
    """Weights must be stored as variables, and once."""
    if weight_bytes is None:
        return
    stored = sum(f.stat().st_size for f in path.glob("variables/*"))
    if not weight_bytes <= stored <= 1.1 * weight_bytes + INDEX_BYTES:
        raise ValueError(
            f"The weights take {weight_bytes} bytes, but the SavedModel stores "
            f"{stored} bytes of variables; they should stand in it once."
        )
    total = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    # TensorFlow writes a SentencePiece model into the graph twice.
    limit = 1.1 * weight_bytes + 3 * tokenizer_bytes + OVERHEAD_BYTES
    if total > limit:
        raise ValueError(
            f"The SavedModel takes {total} bytes for {weight_bytes} bytes of "
            f"weights and {tokenizer_bytes} of vocabulary; at most "
            f"{limit:.0f} were expected."
        )


def _check_answer(call, want, got, names, tolerance):
    size = len(want)
    where = f"Signature {call['signature']!r}, batch of {size}"
    labels, probabilities = _decode_answer(got)
    if probabilities.shape != want.shape or len(labels) != size:
        raise ValueError(
            f"{where}: expected {size} labels and probabilities of shape "
            f"{want.shape}, found {len(labels)} and {probabilities.shape}."
        )
    if not np.all(np.isfinite(probabilities)):
        raise ValueError(f"{where}: the probabilities are not finite.")
    difference = np.abs(probabilities - want).max(initial=0.0)
    if difference > tolerance:
        raise ValueError(
            f"{where}: the probabilities differ from the Python model's by "
            f"{difference:.2g}, more than {tolerance:.2g}."
        )
    best = [names[i] for i in probabilities.argmax(-1)]
    if labels != best:
        raise ValueError(
            f"{where}: the labels {labels} are not those of the highest "
            f"probabilities, {best}."
        )
