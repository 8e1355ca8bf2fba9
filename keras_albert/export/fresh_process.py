"""Runs a SavedModel in a process that has TensorFlow and TF Text alone.

`python -P fresh_process.py request.json reply.json`, with no import of
keras_albert, Keras or keras-hub: what works here works for anyone who is
given the folder. Requests and replies are JSON; strings travel as base64, as
they may be any bytes.
"""

import base64
import json
import sys

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizers' operations)


def describe_operations(folder):
    """Maps the name of each operation in the graph to "is core TensorFlow".

    Functions compiled by XLA count as `XlaLaunch`, the operation that the
    server would have to run for them.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    with open(f"{folder}/saved_model.pb", "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    graph = saved.meta_graphs[0].graph_def
    functions = list(graph.library.function)
    nodes = [*graph.node, *(n for f in functions for n in f.node_def)]
    own = {f.signature.name for f in functions}
    names = {node.op for node in nodes} - own
    if any(
        holder.attr["_XlaMustCompile"].b
        for holder in [*nodes, *functions]
        if "_XlaMustCompile" in holder.attr
    ):
        names.add("XlaLaunch")
    return {name: hasattr(tf.raw_ops, name) for name in names}


def describe_signature(signature):
    """Lists name, dtype and shape of a signature's inputs and outputs."""

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


def run_in_session(folder, calls):
    """Answers as the server does: the stored graph in a session, no XLA."""
    options = tf.compat.v1.ConfigProto()
    options.graph_options.optimizer_options.global_jit_level = (
        tf.compat.v1.OptimizerOptions.OFF
    )
    with (
        tf.Graph().as_default(),
        tf.compat.v1.Session(config=options) as session,
    ):
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], folder)
        signatures = {
            name: signature
            for name, signature in loaded.signature_def.items()
            if name != "__saved_model_init_op"
        }
        answers = []
        for call in calls:
            signature = signatures[call["signature"]]
            outputs = {n: t.name for n, t in signature.outputs.items()}
            feed = {
                signature.inputs[name].name: decode(values)
                for name, values in call["inputs"].items()
            }
            answers.append(encode(session.run(outputs, feed)))
        shapes = {n: describe_signature(s) for n, s in signatures.items()}
    return shapes, answers


def run_loaded(folder, calls):
    """Answers through `tf.saved_model.load`."""
    loaded = tf.saved_model.load(folder)
    answers = []
    for call in calls:
        inputs = {
            name: tf.constant(decode(values), tf.string)
            for name, values in call["inputs"].items()
        }
        outputs = loaded.signatures[call["signature"]](**inputs)
        answers.append(encode({n: t.numpy() for n, t in outputs.items()}))
    return answers


def decode(values):
    """Turns base64 strings into an array of bytes."""
    return np.array([base64.b64decode(v) for v in values], dtype=object)


def encode(outputs):
    """Turns arrays into shape and flat values; bytes become base64 strings."""

    def flat(array):
        values = array.reshape(-1).tolist()
        if array.dtype == object:
            return [base64.b64encode(value).decode() for value in values]
        return values

    return {
        name: {"shape": list(array.shape), "values": flat(array)}
        for name, array in outputs.items()
    }


def main(request_file, reply_file):
    """Answers the calls in `request_file` and describes the SavedModel."""
    with open(request_file) as file:
        request = json.load(file)
    folder, calls = request["folder"], request["calls"]
    signatures, answers = run_in_session(folder, calls)
    reply = {"signatures": signatures, "answers": answers}
    if request["check"]:
        reply["operations"] = describe_operations(folder)
        reply["loaded_answers"] = run_loaded(folder, request["loaded_calls"])
        reply["modules"] = sorted(
            {"keras_albert", "keras_hub"} & set(sys.modules)
        )
    with open(reply_file, "w") as file:
        json.dump(reply, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
