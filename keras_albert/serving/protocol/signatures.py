"""What a SavedModel takes and gives, by name."""

import dataclasses

from keras_albert.serving.protocol.dtypes import BY_NUMBER
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.protocol.tensor_messages import read_tensor

DEFAULT_SIGNATURE = "serving_default"


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """One input or output.

    Attributes:
        tensor: string. Its name in the graph.
        dtype: string, such as `"DT_STRING"`.
        shape: tuple of int, -1 where free, or `None` where even the rank is.
    """

    tensor: str
    dtype: str
    shape: tuple | None


@dataclasses.dataclass(frozen=True)
class Signature:
    """A named function of a SavedModel.

    Attributes:
        name: string.
        inputs, outputs: dict from name to `TensorInfo`, sorted by name.
        defaults: dict from input name to NumPy array. Over gRPC, inputs with
            a default may be left out.
    """

    name: str
    inputs: dict
    outputs: dict
    defaults: dict = dataclasses.field(default_factory=dict)


def signature_from_message(name, message):
    """Reads a `SignatureDef` message of any class.

    Args:
        name: string.
        message: `SignatureDef`.

    Returns:
        A `Signature`.
    """

    def read(infos):
        return {alias: _tensor_info(infos[alias]) for alias in sorted(infos)}

    defaults = getattr(message, "defaults", {})
    return Signature(
        name,
        read(message.inputs),
        read(message.outputs),
        {alias: read_tensor(value) for alias, value in defaults.items()},
    )


def _tensor_info(message):
    known = BY_NUMBER.get(message.dtype)
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    return TensorInfo(
        message.name,
        known.name if known else f"DT_{message.dtype}",
        None if message.tensor_shape.unknown_rank else shape,
    )


def check_inputs(signature, names):
    """Compares the inputs that came with those a signature has.

    Args:
        signature: `Signature`.
        names: iterable of string.

    Raises:
        ServingError: INVALID_ARGUMENT, naming what is missing and what is too
            much.
    """
    came, expected = set(names), set(signature.inputs)
    if came == expected:
        return

    def listed(names):
        return "{" + ",".join(sorted(names)) + "}"

    raise invalid(
        f"input size does not match signature: {len(came)}!={len(expected)} "
        f"len({listed(came)}) != len({listed(expected)}). "
        f"Sent extra: {listed(came - expected)}. "
        f"Missing but required: {listed(expected - came)}."
    )


def chosen_outputs(signature, output_filter):
    """Names the outputs to compute.

    Args:
        signature: `Signature`.
        output_filter: list of string; all outputs where empty.

    Returns:
        List of output names.

    Raises:
        ServingError: INVALID_ARGUMENT, for a name that is none or comes twice.
    """
    for alias in output_filter:
        if alias not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {alias} Outputs "
                "expected to be in the set "
                f"{{{','.join(signature.outputs)}}}."
            )
    if len(set(output_filter)) < len(output_filter):
        twice = max(output_filter, key=list(output_filter).count)
        raise invalid(f"duplicate output tensor alias: {twice}")
    return list(output_filter) or list(signature.outputs)


def check_example_signature(signature, method):
    """Checks that a signature takes `tf.Example`s and gives what is asked.

    Args:
        signature: `Signature`.
        method: `"classify"` or `"regress"`.

    Returns:
        List of the outputs to compute.

    Raises:
        ServingError: FAILED_PRECONDITION or INVALID_ARGUMENT.
    """
    allowed = {"classify": ("classes", "scores"), "regress": ("outputs",)}
    if list(signature.inputs) != ["inputs"]:
        raise ServingError(
            "FAILED_PRECONDITION",
            f"Expected one input named inputs in signature {signature.name}, "
            f"which has {list(signature.inputs)}. It cannot {method}.",
        )
    outputs = list(signature.outputs)
    if not outputs or not set(outputs) <= set(allowed[method]):
        raise ServingError(
            "FAILED_PRECONDITION",
            f"Expected outputs {list(allowed[method])} in signature "
            f"{signature.name}, which has {outputs}. It cannot {method}.",
        )
    return outputs
