"""What stands in a SavedModel's graph file: its signatures and operations."""

import os
from pathlib import Path

INIT_SIGNATURE = "__saved_model_init_op"


def read_graph(folder):
    """Reads the part of a SavedModel that servers load.

    Args:
        folder: path that holds `saved_model.pb`.

    Returns:
        `MetaGraphDef` message.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if the file is damaged.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    path = Path(folder, "saved_model.pb")
    if not path.is_file():
        raise FileNotFoundError(
            f"No SavedModel in {folder}: the file saved_model.pb is missing. "
            "Give the folder of one version, such as `model/1`."
        )
    try:
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        return saved.meta_graphs[0]
    except (DecodeError, IndexError) as error:
        raise ValueError(
            f"{path} is damaged: it holds no graph. Export the model again."
        ) from error


def signatures_of(graph):
    """Lists the signatures.

    Args:
        graph: `MetaGraphDef`.

    Returns:
        Dict from name to `SignatureDef`.
    """
    return {
        name: signature
        for name, signature in graph.signature_def.items()
        if name != INIT_SIGNATURE
    }


def describe_signature(signature):
    """Lists name, dtype and shape of a signature's inputs and outputs.

    Args:
        signature: `SignatureDef`.

    Returns:
        `{"inputs": ..., "outputs": ...}`, in these from name to `[dtype,
        shape]` with -1 for a free size.
    """
    import tensorflow as tf

    def describe(tensors):
        return {
            name: [
                tf.dtypes.as_dtype(info.dtype).name,
                [dim.size for dim in info.tensor_shape.dim],
            ]
            for name, info in tensors.items()
        }

    return {
        "inputs": describe(signature.inputs),
        "outputs": describe(signature.outputs),
    }


def describe_operations(graph):
    """Maps the name of each operation to "is it core TensorFlow".

    Functions compiled by XLA count as `XlaLaunch`, the operation that the
    server would have to run for them.

    Args:
        graph: `MetaGraphDef`.

    Returns:
        Dict from string to bool.
    """
    import tensorflow as tf

    functions = list(graph.graph_def.library.function)
    nodes = [
        *graph.graph_def.node,
        *(node for function in functions for node in function.node_def),
    ]
    own = {function.signature.name for function in functions}
    names = {node.op for node in nodes} - own
    if any(
        holder.attr["_XlaMustCompile"].b
        for holder in [*nodes, *functions]
        if "_XlaMustCompile" in holder.attr
    ):
        names.add("XlaLaunch")
    return {name: hasattr(tf.raw_ops, name) for name in names}


def folder_size(folder):
    """Bytes of all files in a folder."""
    return sum(
        (Path(root) / name).stat().st_size
        for root, _, names in os.walk(folder)
        for name in names
    )
