"""Comparing a conversion with its source, by what both answer.

Hugging Face's and keras-hub's models are run by their own libraries; formats
whose code no longer runs are computed in NumPy from the file.
"""

import contextlib
import importlib.util

import keras
import numpy as np
from keras import ops

from keras_albert.conversion.numpy_forward import numpy_outputs
from keras_albert.conversion.source import Converted

LENGTH = 16


def check_inputs(arguments, seed=0):
    """Draws a batch that any model of these sizes takes.

    Args:
        arguments: dict of arguments of `AlbertBackbone`.
        seed: int.

    Returns:
        Dict of int32 arrays of shape `(2, length)`: `token_ids`,
        `segment_ids`, `padding_mask`. The second row is padded.
    """
    generator = np.random.default_rng(seed)
    length = min(LENGTH, arguments.get("max_sequence_length", LENGTH))
    shape = (2, length)
    segments = min(2, arguments.get("num_segments", 2))
    segment_ids = np.zeros(shape, "int32")
    segment_ids[:, length // 2 :] = segments - 1
    padding_mask = np.ones(shape, "int32")
    padding_mask[1, length - length // 3 :] = 0
    token_ids = generator.integers(
        0, arguments["vocabulary_size"], shape, "int32"
    )
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": padding_mask,
    }


def outputs_of(opened, inputs, folder):
    """Runs whatever was opened, and says by what.

    Args:
        opened: `Source`, or `Converted` for a model of ours.
        inputs: as of `check_inputs`.
        folder: path it was opened from.

    Returns:
        `(outputs, runner)`: a dict of arrays by name, see `numpy_outputs`,
        and the name of the library that computed them.
    """
    if isinstance(opened, Converted):
        new = set(opened.report.new_heads)
        return _our_outputs(opened.model, inputs, new), "keras_albert"
    if opened.kind == "keras_hub":
        return _keras_hub_outputs(opened, inputs), "keras-hub"
    libraries = ("torch", "transformers")
    if opened.kind == "hugging_face" and all(
        importlib.util.find_spec(name) for name in libraries
    ):
        return _their_outputs(opened, inputs, folder), "transformers"
    return numpy_outputs(opened, inputs), "NumPy, from the file"


def answers_there(converted, inputs, expected, epsilon):
    """What the source's outputs become where the head has one epsilon.

    keras-hub's masked language head normalises with an epsilon of its own, the
    other formats' with that of their encoder. The weights are the same; the
    scores are not quite, by a difference that is known before it is written.

    Args:
        converted: `Converted`.
        inputs: as of `check_inputs`.
        expected: dict of arrays, the source's outputs.
        epsilon: float. The head's in the format that is written.

    Returns:
        `(expected, check, notes)`: the outputs to be expected there; the
        difference between the source and ours as it is; and a sentence that
        says what changes, if anything does.
    """
    head = getattr(converted.model, "masked_lm_head", None)
    new = set(converted.report.new_heads)
    if head is None or "masked_lm" in new or "masked_lm" not in expected:
        return expected, {}, []
    if head.layer_norm_epsilon == epsilon:
        return expected, {}, []
    mask = inputs["padding_mask"]
    ours = _our_outputs(converted.model, inputs, new)
    check = differences(ours, expected, mask)
    with _head_epsilon(head, epsilon):
        there = _our_outputs(converted.model, inputs, new)
    lost = differences({"masked_lm": there["masked_lm"]}, ours, mask)
    note = (
        "The masked language head normalises with an epsilon of "
        f"{head.layer_norm_epsilon:g} here, and of {epsilon:g} and no other "
        f"there: its scores change by {lost['masked_lm']:.1e} on the sample."
    )
    return {**expected, "masked_lm": there["masked_lm"]}, check, [note]


def differences(ours, theirs, padding_mask):
    """Returns the greatest difference of each output that both have.

    Args:
        ours: dict of arrays.
        theirs: dict of arrays.
        padding_mask: int array of shape `(batch_size, length)`; outputs per
            token are compared where it is 1.

    Returns:
        Dict from name to float: the greatest absolute difference, in units of
        the greatest value where that is above 1.
    """
    real = padding_mask.astype(bool)
    found = {}
    for name in sorted(set(ours) & set(theirs)):
        a, b = np.float64(ours[name]), np.float64(theirs[name])
        if a.ndim == 3:
            a, b = a[real], b[real]
        gap = np.abs(a - b).max() if a.shape == b.shape else np.inf
        found[name] = float(gap / max(1.0, np.abs(b).max()))
    return found


@contextlib.contextmanager
def _without_gradients():
    """Keeps PyTorch from holding every intermediate result."""
    if keras.backend.backend() != "torch":
        yield
        return
    import torch

    with torch.no_grad():
        yield


@_without_gradients()
def _our_outputs(model, inputs, new):
    backbone = getattr(model, "backbone", model)
    outputs = {**backbone(inputs)}
    if hasattr(model, "masked_lm_head"):
        every = np.arange(inputs["token_ids"].shape[1], dtype="int32")
        positions = np.tile(every, (len(inputs["token_ids"]), 1))
        outputs |= model({**inputs, "mask_positions": positions})
    elif hasattr(model, "logits"):
        outputs["classifier"] = _logits(model, outputs["pooled_output"])
    if "pooler" in new:
        outputs.pop("pooled_output")
    outputs = {k: v for k, v in outputs.items() if k not in new}
    return {k: ops.convert_to_numpy(v) for k, v in outputs.items()}


@contextlib.contextmanager
def _head_epsilon(head, epsilon):
    original, head.layer_norm.epsilon = head.layer_norm.epsilon, epsilon
    try:
        yield
    finally:
        head.layer_norm.epsilon = original


def _logits(model, pooled):
    """The classifier's scores before its activation."""
    dense = model.logits
    return ops.matmul(ops.cast(pooled, "float32"), dense.kernel) + dense.bias


@_without_gradients()
def _keras_hub_outputs(source, inputs):
    model = source.weights.model
    outputs = {**getattr(model, "backbone", model)(inputs)}
    if source.task == "pretrainer":
        every = np.arange(inputs["token_ids"].shape[1], dtype="int32")
        positions = np.tile(every, (len(inputs["token_ids"]), 1))
        given = {**inputs, "mask_positions": positions}
        outputs["masked_lm"] = model(given)
    elif source.task == "classifier":
        dense = model.output_dense
        pooled = ops.cast(outputs["pooled_output"], "float32")
        outputs["classifier"] = ops.matmul(pooled, dense.kernel) + dense.bias
    return {k: ops.convert_to_numpy(v) for k, v in outputs.items()}


def _their_outputs(source, inputs, folder):
    import torch
    import transformers

    cls = getattr(transformers, source.architecture)
    try:
        with _without_progress_bars(transformers.utils.logging):
            model = cls.from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                dtype=torch.float32,
                attn_implementation="eager",
            ).eval()
    except Exception as error:  # its checks have many kinds
        first = " ".join(str(error).split())[:200]
        raise ValueError(
            f"transformers refuses {folder}, so that nothing could be "
            f"compared. It says: {first}"
        ) from error
    given = {
        "input_ids": inputs["token_ids"],
        "token_type_ids": inputs["segment_ids"],
        "attention_mask": inputs["padding_mask"],
    }
    given = {k: torch.tensor(v, dtype=torch.long) for k, v in given.items()}
    outputs = {}
    with torch.no_grad():
        base = getattr(model, "albert", model)
        encoded = base(**given)
        outputs["sequence_output"] = encoded.last_hidden_state
        if encoded.pooler_output is not None:
            outputs["pooled_output"] = encoded.pooler_output
            if hasattr(model, "sop_classifier"):
                outputs["sentence_order"] = model.sop_classifier(
                    encoded.pooler_output
                )
            if source.task == "classifier":
                outputs["classifier"] = model.classifier(encoded.pooler_output)
        if hasattr(model, "predictions"):
            outputs["masked_lm"] = model.predictions(encoded.last_hidden_state)
    return {name: tensor.numpy() for name, tensor in outputs.items()}


@contextlib.contextmanager
def _without_progress_bars(logging):
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
