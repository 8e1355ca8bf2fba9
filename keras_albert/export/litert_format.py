"""LiteRT (TensorFlow Lite): one file for devices, a signature per length."""

import tempfile
from pathlib import Path

from keras_albert.export.conformance import check_cases
from keras_albert.export.conformance import padded_inputs
from keras_albert.export.extra import import_extra
from keras_albert.export.signature_shapes import MAX_MASKS
from keras_albert.export.token_signature import BATCH
from keras_albert.export.token_signature import MASKS

NAME = "litert"
MODEL_FILE = "model.tflite"
# Delegates only speed up what has a fixed size.
SIZES = {BATCH: 1, MASKS: MAX_MASKS}
INTERPRETER = "ai_edge_litert.interpreter"


def check_installed():
    """Fails early where the extra is missing."""
    import_extra(INTERPRETER, NAME)


def build(task, model):
    """Copies the weights into the graph that is written.

    Args:
        task: `ServedTask`.
        model: the Keras model, on any backend.

    Returns:
        `TokenModel`.
    """
    from keras_albert.export.token_model import TokenModel

    return TokenModel(task, model)


def signature_name(length):
    """The signature for rows of a length.

    >>> signature_name(64)
    'length_64'
    """
    return f"length_{length}"


def write(folder, task, token_model, lengths):
    """Writes `model.tflite`.

    The signatures share one copy of the weights.

    Args:
        folder: path.
        task: `ServedTask`.
        token_model: `TokenModel`.
        lengths: list of int.
    """
    import tensorflow as tf

    signatures = {
        signature_name(length): token_model.function(
            batch=SIZES[BATCH], length=length, masks=SIZES[MASKS]
        ).get_concrete_function()
        for length in lengths
    }
    with tempfile.TemporaryDirectory() as saved:
        tf.saved_model.save(token_model, saved, signatures=signatures)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            saved, signature_keys=list(signatures)
        )
        (Path(folder) / MODEL_FILE).write_bytes(converter.convert())


def check(folder, task, cases, lengths):
    """Compares the interpreter's answers with the stored ones.

    Args:
        folder: path that holds `model.tflite`.
        task: `ServedTask`.
        cases: list of `ConformanceCase`; each is asked at each length that it
            fits in.
        lengths: list of int.

    Returns:
        Float. The largest difference.

    Raises:
        ValueError: if an answer differs.
    """
    largest = 0.0
    runners = open_runners(folder, lengths)
    for length, run in runners.items():
        for case in cases:
            if len(case) <= length:
                inputs = padded_inputs([case], length, SIZES[MASKS])
                where = f"LiteRT, signature {signature_name(length)!r},"
                found = check_cases([case], run(**inputs), where)
                largest = max(largest, found)
    return largest


def open_runners(folder, lengths):
    """Opens the file in the interpreter.

    Args:
        folder: path that holds `model.tflite`.
        lengths: list of int.

    Returns:
        Dict from length to a function from named arrays to a dict of arrays.

    Raises:
        ValueError: if a signature is missing.
    """
    interpreter = import_extra(INTERPRETER, NAME).Interpreter(
        model_path=str(Path(folder) / MODEL_FILE)
    )
    wanted = {length: signature_name(length) for length in lengths}
    found = set(interpreter.get_signature_list())
    if found != set(wanted.values()):
        raise ValueError(
            f"LiteRT should find the signatures {sorted(wanted.values())}. "
            f"Found: {sorted(found)}."
        )
    return {
        length: interpreter.get_signature_runner(name)
        for length, name in wanted.items()
    }


def example(signature, lengths):
    """Python lines that ask the model, for the README."""
    feeds = "".join(f"    {name}={name},\n" for name in signature["inputs"])
    names = ", ".join(f"`{signature_name(length)}`" for length in lengths)
    return f"""\
```python
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("{MODEL_FILE}")
run = interpreter.get_signature_runner("{signature_name(lengths[0])}")
answer = run(
{feeds})
```

The signatures {names} take one row each, padded to their length:
take the shortest that the text fits in."""
