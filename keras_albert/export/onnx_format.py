"""ONNX: one file for ONNX Runtime, with batch and length free."""

import hashlib
import logging
from pathlib import Path

import numpy as np

from keras_albert.export.conformance import check_cases
from keras_albert.export.conformance import padded_inputs
from keras_albert.export.extra import import_extra
from keras_albert.export.token_signature import token_signature

NAME = "onnx"
MODEL_FILE = "model.onnx"
SIZES = {}  # all are free
# ONNX Runtime 1.14 and later read it.
OPSET = 18
# A protocol buffer cannot be larger.
LIMIT_BYTES = 2**31 - 2**20


def check_installed():
    """Fails early where the extra is missing."""
    for module in ("onnx", "onnxruntime", "tf2onnx"):
        import_extra(module, NAME)


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


def write(folder, task, token_model, lengths):
    """Writes `model.onnx`.

    Args:
        folder: path.
        task: `ServedTask`.
        token_model: `TokenModel`.
        lengths: not needed: one graph takes all of them.

    Raises:
        ValueError: if the weights do not fit into one file.
    """
    if token_model.weight_bytes() > LIMIT_BYTES:
        raise ValueError(
            f"The weights take {token_model.weight_bytes():,} bytes, but one "
            "ONNX file holds 2 GB at most. Export a SavedModel instead."
        )
    convert = import_extra("tf2onnx.convert", NAME)
    onnx = import_extra("onnx", NAME)
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    function = token_model.function()
    proto, _ = convert.from_function(
        function, input_signature=function.input_signature, opset=OPSET
    )
    _name_sizes(proto.graph, token_signature(task))
    _share_transposed(proto.graph)
    onnx.checker.check_model(proto)
    onnx.save(proto, str(Path(folder) / MODEL_FILE))


def _name_sizes(graph, signature):
    """Says which free sizes are equal, by their names."""
    shapes = {**signature["inputs"], **signature["outputs"]}
    for tensor in (*graph.input, *graph.output):
        _, sizes = shapes[tensor.name]
        dimensions = tensor.type.tensor_type.shape
        del dimensions.dim[:]
        for size in sizes:
            if isinstance(size, str):
                dimensions.dim.add().dim_param = size
            else:
                dimensions.dim.add().dim_value = size


def _share_transposed(graph):
    """Stores a matrix once whose transpose the graph also holds.

    A pretrainer scores words by the table that it embeds them with, and the
    conversion writes that table a second time, transposed.
    """
    onnx = import_extra("onnx", NAME)
    names = {}
    for tensor in list(graph.initializer):
        if len(tensor.dims) != 2:
            continue
        matrix = onnx.numpy_helper.to_array(tensor)
        twin = names.get(_content(matrix.T))
        if twin is None:
            names[_content(matrix)] = tensor.name
            continue
        graph.initializer.remove(tensor)
        node = onnx.helper.make_node(
            "Transpose", [twin], [tensor.name], perm=[1, 0]
        )
        graph.node.insert(0, node)


def _content(matrix):
    """What two equal matrices have in common."""
    values = np.ascontiguousarray(matrix)
    digest = hashlib.sha256(values).digest()
    return values.shape, values.dtype.str, digest


def check(folder, task, cases, lengths):
    """Compares ONNX Runtime's answers with the stored ones.

    Single texts, all in one padded batch, and a batch of none are asked for.

    Args:
        folder: path that holds `model.onnx`.
        task: `ServedTask`.
        cases: list of `ConformanceCase`.
        lengths: not needed.

    Returns:
        Float. The largest difference.

    Raises:
        ValueError: if an answer differs.
    """
    run = runner(folder)
    batches = [cases, *([case] for case in cases)]
    largest = [
        check_cases(batch, run(padded_inputs(batch)), "ONNX Runtime")
        for batch in batches
    ]
    none = {name: x[:0] for name, x in padded_inputs(cases).items()}
    for name, values in run(none).items():
        if len(values):
            raise ValueError(
                f"A batch of none gave {len(values)} rows of {name} in ONNX "
                "Runtime."
            )
    return max(largest)


def runner(folder):
    """Opens a file in ONNX Runtime.

    Args:
        folder: path that holds `model.onnx`.

    Returns:
        Function from a dict of arrays to a dict of arrays.
    """
    onnxruntime = import_extra("onnxruntime", NAME)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(Path(folder) / MODEL_FILE),
        options,
        providers=["CPUExecutionProvider"],
    )
    names = [output.name for output in session.get_outputs()]

    def run(inputs):
        return dict(zip(names, session.run(names, inputs), strict=True))

    return run


def example(signature, lengths):
    """Python lines that ask the model, for the README."""
    feeds = "".join(
        f'        "{name}": {name},\n' for name in signature["inputs"]
    )
    return f"""\
```python
import onnxruntime

session = onnxruntime.InferenceSession("{MODEL_FILE}")
answers = session.run(
    {list(signature["outputs"])},
    {{
{feeds}    }},
)
```

Batch and length are free (`length` up to that of the model); pad rows to the
longest of a batch."""
