"""Stored examples by which any runtime's answers can be judged.

`conformance.json` holds texts, the ids that a right tokenizer makes of them,
and the numbers that Keras computes from these ids.
"""

import dataclasses
import json
from pathlib import Path

import keras
import numpy as np

from keras_albert.data.whole_files import write_atomically
from keras_albert.export.python_answers import exact_model
from keras_albert.export.python_answers import softmax
from keras_albert.export.signature_shapes import TOKEN_NAMES
from keras_albert.tokenizers.packing import pack_segments_python

CONFORMANCE_FILE = "conformance.json"
# Relative to numbers that are larger than 1.
TOLERANCE = 1e-4
SHORT_TEXTS = (
    "",
    "The room was clean and the staff were kind.",
    "房间很干净，服务员也很热情，下次还会来。",
)
# A word for each token at least, whatever the vocabulary.
LONG_TEXT = "好 a film "


@dataclasses.dataclass
class ConformanceCase:
    """A text, its token ids and the right answer.

    Args:
        text: string.
        inputs: dict from name to an int32 array without a batch axis; there
            is no padding.
        outputs: dict from name to a float32 array without a batch axis.
    """

    text: str
    inputs: dict
    outputs: dict

    def __len__(self):
        return len(self.inputs["token_ids"])


def make_cases(task, model, preprocessor, lengths):
    """Asks the Keras model about a few short texts, and one of each length.

    Args:
        task: `ServedTask`.
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`,
            on any backend.
        preprocessor: `AlbertTextClassifierPreprocessor`.
        lengths: list of int. How many tokens the long texts have.

    Returns:
        List of `ConformanceCase`.
    """
    model = exact_model(model)
    shortest = min(lengths)
    texts = [(text, shortest) for text in SHORT_TEXTS]
    texts += [(LONG_TEXT * length, length) for length in lengths]
    return [
        _case(task, model, preprocessor, text, length) for text, length in texts
    ]


def _case(task, model, preprocessor, text, length):
    tokenizer = preprocessor.tokenizer
    options = preprocessor.packing_options()
    options["sequence_length"] = length
    packed = pack_segments_python([tokenizer.encode_batch([text])], **options)
    inputs = dict(zip(TOKEN_NAMES, packed, strict=True))
    count = int(inputs["padding_mask"].sum())
    inputs = {name: x[:, :count] for name, x in inputs.items()}
    if task.kind == "pretrainer":
        place = count // 2
        inputs["token_ids"][:, place] = tokenizer.mask_token_id
        inputs["mask_positions"] = np.array([[place]], "int32")
    outputs = keras_outputs(task, model, inputs)
    return ConformanceCase(
        text,
        {name: x[0] for name, x in inputs.items()},
        {name: x[0] for name, x in outputs.items()},
    )


def keras_outputs(task, model, inputs):
    """What the Keras model gives, as `token_signature` names it.

    Args:
        task: `ServedTask`.
        model: Keras model in float32.
        inputs: dict of int32 arrays with a batch axis.

    Returns:
        Dict of float32 arrays.
    """
    tensors = {n: keras.ops.convert_to_tensor(x) for n, x in inputs.items()}
    found = model(tensors, training=False)
    if task.kind == "backbone":
        hidden = _numpy(found["sequence_output"])
        weights = inputs["padding_mask"][:, :, None].astype("float32")
        return {
            "sequence_output": hidden,
            "pooled": _numpy(found["pooled_output"]),
            "mean_pooled": (hidden * weights).sum(1) / weights.sum(1),
        }
    if task.kind == "pretrainer":
        return {name: _numpy(x) for name, x in found.items()}
    values = _numpy(found)
    if task.kind == "regressor":
        return {"value": values[:, 0]}
    if getattr(model.activation, "__name__", "linear") == "linear":
        values = softmax(values)
    return {"probabilities": values}


def write_cases(folder, cases):
    """Writes `conformance.json`.

    Args:
        folder: path.
        cases: list of `ConformanceCase`.
    """
    content = {
        "tolerance": TOLERANCE,
        "cases": [
            {
                "text": case.text,
                "inputs": {n: x.tolist() for n, x in case.inputs.items()},
                "outputs": {n: _short(x) for n, x in case.outputs.items()},
            }
            for case in cases
        ],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    write_atomically(Path(folder) / CONFORMANCE_FILE, text + "\n")


def read_cases(folder):
    """Reads `conformance.json`.

    Args:
        folder: path.

    Returns:
        List of `ConformanceCase`.
    """
    text = (Path(folder) / CONFORMANCE_FILE).read_text(encoding="utf-8")
    return [
        ConformanceCase(
            case["text"],
            {n: np.array(x, "int32") for n, x in case["inputs"].items()},
            {n: np.array(x, "float32") for n, x in case["outputs"].items()},
        )
        for case in json.loads(text)["cases"]
    ]


def padded_inputs(cases, length=None, masks=None):
    """Makes one batch of cases.

    Args:
        cases: list of `ConformanceCase`.
        length: int. Defaults to that of the longest.
        masks: int, as many columns have mask positions. Defaults to what the
            cases have.

    Returns:
        Dict from name to an int32 array.
    """
    length = length or max(len(case) for case in cases)
    batch = {}
    for name, first in cases[0].inputs.items():
        width = length
        if name == "mask_positions":
            width = masks or len(first)
        batch[name] = np.zeros((len(cases), width), "int32")
        for row, case in enumerate(cases):
            batch[name][row, : len(case.inputs[name])] = case.inputs[name]
    return batch


def check_cases(cases, found, where, tolerances=None):
    """Compares a runtime's answers for a batch of cases.

    Args:
        cases: list of `ConformanceCase`.
        found: dict from name to an array with a row for each case; rows may
            be longer than the case, by padding.
        where: string. What answered, for the message.
        tolerances: dict from an output's name to a difference that is still
            right, instead of `TOLERANCE`.

    Returns:
        Float. The largest difference, relative to numbers larger than 1.

    Raises:
        ValueError: if an output is missing or differs.
    """
    largest = 0.0
    for row, case in enumerate(cases):
        for name, want in case.outputs.items():
            if name not in found or len(found[name]) != len(cases):
                raise ValueError(
                    f"{where} should give {len(cases)} rows of {name}. Found: "
                    f"{ {n: x.shape for n, x in found.items()} }."
                )
            # Not what was computed for padding.
            kept = tuple(slice(size) for size in want.shape)
            got = np.asarray(found[name][row])[kept]
            difference = np.inf
            if got.shape == want.shape and np.all(np.isfinite(got)):
                scale = np.maximum(np.abs(want), 1)
                difference = float(np.max(np.abs(got - want) / scale))
            limit = (tolerances or {}).get(name, TOLERANCE)
            if difference > limit:
                raise ValueError(
                    f"{where} differs from the Keras model by "
                    f"{difference:.2g} in {name} for a text of {len(case)} "
                    f"tokens; at most {limit:g} was expected."
                )
            largest = max(largest, difference)
    return largest


def _numpy(tensor):
    return keras.ops.convert_to_numpy(tensor).astype("float32")


def _short(array):
    """The fewest digits that give the same float32."""
    if array.ndim:
        return [_short(part) for part in array]
    return float(str(array))
