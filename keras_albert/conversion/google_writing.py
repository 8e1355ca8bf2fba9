"""Models of ours as checkpoints of Google's TF1 code."""

import json
from pathlib import Path

import numpy as np
from keras import ops

from keras_albert.conversion.configurations import their_config
from keras_albert.conversion.google import ACTIVATIONS
from keras_albert.conversion.google import CONFIG_FILE
from keras_albert.conversion.google import PREFIX
from keras_albert.conversion.google_names import GOOGLE
from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.variable_memory import tensorflow_tensor
from keras_albert.conversion.weight_table import variable_as

# About the most that is held at once when a checkpoint is written.
PART_BYTES = 2**26


def write_google(converted, folder):
    """Writes a model as a TF1 checkpoint with Google's names.

    Args:
        converted: `Converted`.
        folder: path of a folder that exists.

    Raises:
        ValueError: if Google's code has not this model.
    """
    folder, model = Path(folder), converted.model
    backbone = getattr(model, "backbone", model)
    config = their_config(backbone, ACTIVATIONS)
    if config.pop("layer_norm_eps") != 1e-12:
        raise ValueError(
            "Google's code has a fixed normalisation epsilon of 1e-12. "
            f"Received: layer_norm_epsilon={backbone.layer_norm_epsilon}."
        )
    write_checkpoint(folder / PREFIX, _weights_to_write(converted))
    text = json.dumps(config, indent=2) + "\n"
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")


def _weights_to_write(converted):
    """Yields `(Google's name, shape, function that gives the array)`."""
    variables = model_variables(converted.model)
    for name in converted.added_here("google"):
        del variables[name]
    backbone = getattr(converted.model, "backbone", converted.model)
    if backbone.embedding_dim == backbone.hidden_dim:
        _drop_identity_projection(variables)
    for name, variable in variables.items():
        theirs, form = GOOGLE.row(name)
        yield theirs, *variable_as(variable, form)
    for name, array in converted.kept_from("google").items():
        yield name, array.shape, lambda array=array: array


def _drop_identity_projection(variables):
    kernel = variables.pop("embeddings/projection/kernel", None)
    bias = variables.pop("embeddings/projection/bias", None)
    if kernel is None:
        return
    kernel, bias = ops.convert_to_numpy(kernel), ops.convert_to_numpy(bias)
    if not (np.array_equal(kernel, np.eye(len(kernel))) and not bias.any()):
        raise ValueError(
            "Google's code has no projection of the embedding where E equals "
            f"H. Received: a trained projection and E = H = {len(kernel)}."
        )


def write_checkpoint(prefix, weights):
    """Writes arrays as a TensorFlow checkpoint, a part at a time.

    Args:
        prefix: path of the checkpoint without `.index`.
        weights: iterable of `(name, shape, read)`; `read()` gives the array.
    """
    import tensorflow as tf

    parts = []
    for number, members in enumerate(_parts(weights)):
        parts.append(f"{prefix}_temp/part-{number:05d}")
        with tf.device("cpu"):
            tf.raw_ops.SaveV2(
                prefix=parts[-1],
                tensor_names=[name for name, _, _ in members],
                shape_and_slices=[""] * len(members),
                tensors=[tensorflow_tensor(read()) for _, _, read in members],
            )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=parts,
        destination_prefix=str(prefix),
        delete_old_dirs=True,
    )
    state = f'model_checkpoint_path: "{Path(prefix).name}"\n'
    Path(prefix).with_name("checkpoint").write_text(state)


def _parts(weights):
    part, size = [], 0
    for weight in weights:
        more = 4 * int(np.prod(weight[1]))
        if part and size + more > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(weight)
        size += more
    if part:
        yield part
