"""What a request asks of a model, checked before anything is computed."""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_albert.serving.protocol.dtypes import BY_NAME
from keras_albert.serving.protocol.dtypes import dtype_of
from keras_albert.serving.protocol.signatures import DEFAULT_SIGNATURE
from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.signatures import check_example_signature
from keras_albert.serving.protocol.signatures import check_inputs
from keras_albert.serving.protocol.signatures import chosen_outputs
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid


@dataclasses.dataclass(frozen=True)
class Call:
    """A signature to run.

    Attributes:
        api: string, as in metrics: `"Predict"`, `"Classify"`, `"Regress"`.
        signature: `Signature`.
        tensors: dict from input name to NumPy array.
        outputs: list of the output names to compute.
        finish: function from the dict of outputs to the result.
    """

    api: str
    signature: Signature
    tensors: dict
    outputs: list
    finish: Callable


def rest_signature(model, name):
    """Finds a signature for a REST predict request.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    signature = model.signature(name)
    if signature is None:
        raise invalid(
            f'Serving signature name: "{name or DEFAULT_SIGNATURE}" not found '
            "in signature def"
        )
    return signature


def grpc_signature(model, name):
    """Finds a signature for a gRPC predict request.

    Raises:
        ServingError: FAILED_PRECONDITION.
    """
    signature = model.signature(name)
    if signature is None:
        raise ServingError(
            "FAILED_PRECONDITION",
            f'Serving signature key "{name or DEFAULT_SIGNATURE}" not found.',
        )
    return signature


def predict_call(signature, tensors, output_filter=()):
    """Prepares a predict request.

    Args:
        signature: `Signature`.
        tensors: dict from input name to NumPy array.
        output_filter: list of output names; all where empty.

    Returns:
        A `Call` whose result is the dict of outputs.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    check_inputs(signature, tensors)
    for index, (name, info) in enumerate(signature.inputs.items()):
        expected = BY_NAME.get(info.dtype)
        came = dtype_of(tensors[name])
        if came is not expected:
            raise invalid(
                f"Expects arg[{index}] to be "
                f"{info.dtype.removeprefix('DT_').lower()} but {came.short} is "
                f"provided (input {name})"
            )
    outputs = chosen_outputs(signature, list(output_filter))
    return Call("Predict", signature, tensors, outputs, lambda result: result)


def classify_call(model, signature_name, examples):
    """Prepares a classify request.

    Args:
        model: has `signature(name)`.
        signature_name: string; empty for the default.
        examples: list of bytes, serialized `tf.Example`s.

    Returns:
        A `Call` whose result is a list with, for each example, a list of
        `(label, score)`: bytes and float32.

    Raises:
        ServingError: if there are no examples or the signature cannot
            classify.
    """
    call = _examples_call("Classify", model, signature_name, examples)

    def finish(outputs):
        classes, scores = outputs.get("classes"), outputs.get("scores")
        present = classes if scores is None else scores
        for name, array in outputs.items():
            if array.ndim != 2 or len(array) != len(examples):
                raise invalid(
                    f"Expected {name} of shape [{len(examples)}, classes]. "
                    f"The model gave: {list(array.shape)}."
                )
            if array.shape != present.shape:
                raise invalid(
                    "Expected classes and scores of one shape. The model gave: "
                    f"{list(classes.shape)} and {list(scores.shape)}."
                )
        if classes is None:
            classes = np.full(scores.shape, b"", object)
        if scores is None:
            scores = np.zeros(classes.shape, np.float32)
        return [
            list(zip(labels, row, strict=True))
            for labels, row in zip(classes, scores, strict=True)
        ]

    return dataclasses.replace(call, finish=finish)


def regress_call(model, signature_name, examples):
    """Prepares a regress request.

    Args:
        model: has `signature(name)`.
        signature_name: string; empty for the default.
        examples: list of bytes, serialized `tf.Example`s.

    Returns:
        A `Call` whose result is a float32 array of shape `(num_examples,)`.

    Raises:
        ServingError: if there are no examples or the signature cannot regress.
    """
    call = _examples_call("Regress", model, signature_name, examples)

    def finish(outputs):
        values = outputs["outputs"]
        if values.shape not in ((len(examples),), (len(examples), 1)):
            raise invalid(
                f"Expected outputs of shape [{len(examples)}] or "
                f"[{len(examples)}, 1]. The model gave: {list(values.shape)}."
            )
        return values.reshape(-1)

    return dataclasses.replace(call, finish=finish)


def with_context(examples, context=None):
    """Serializes examples, each with the features they have in common.

    Args:
        examples: iterable of `Example` messages.
        context: `Example` message or `None`. A feature that an example has
            itself is left as it is.

    Returns:
        List of bytes.
    """
    if context is None:
        return [example.SerializeToString() for example in examples]
    serialized = []
    for example in examples:
        whole = type(context)()
        whole.CopyFrom(context)
        for name, feature in example.features.feature.items():
            whole.features.feature[name].CopyFrom(feature)
        serialized.append(whole.SerializeToString())
    return serialized


def _examples_call(api, model, signature_name, examples):
    signature = model.signature(signature_name)
    if signature is None:
        raise invalid(
            "No signature was found with the name: "
            f"{signature_name or DEFAULT_SIGNATURE}"
        )
    outputs = check_example_signature(signature, api.lower())
    if not examples:
        raise invalid("Input is empty.")
    tensor = np.empty(len(examples), object)
    tensor[:] = examples
    return Call(api, signature, {"inputs": tensor}, outputs, None)
