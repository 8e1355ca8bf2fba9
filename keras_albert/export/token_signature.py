"""What a model that takes token ids is fed with and gives.

For runtimes that have no tokenizer: ONNX Runtime, LiteRT, `torch.export`.
"""

from keras_albert.export.signature_shapes import TOKEN_NAMES

# Names of sizes that a caller chooses.
BATCH, LENGTH, MASKS = "batch", "length", "masks"


def token_signature(task):
    """Lists names, dtypes and shapes.

    Args:
        task: `ServedTask`.

    Returns:
        `{"inputs": ..., "outputs": ...}`, in these from name to
        `[dtype, shape]`; a free size stands in a shape by its name.

    >>> from keras_albert.export.signature_shapes import ServedTask
    >>> task = ServedTask("regressor", 8, 16, 11)
    >>> token_signature(task)["outputs"]
    {'value': ['float32', ['batch']]}
    """
    inputs = {name: ["int32", [BATCH, LENGTH]] for name in TOKEN_NAMES}
    if task.kind == "pretrainer":
        inputs["mask_positions"] = ["int32", [BATCH, MASKS]]
    shapes = {
        "classifier": {"probabilities": [BATCH, len(task.labels)]},
        "regressor": {"value": [BATCH]},
        "pretrainer": {
            "masked_lm": [BATCH, MASKS, task.vocabulary_size],
            "sentence_order": [BATCH, 2],
        },
        "backbone": {
            "sequence_output": [BATCH, LENGTH, task.hidden_dim],
            "pooled": [BATCH, task.hidden_dim],
            "mean_pooled": [BATCH, task.hidden_dim],
        },
    }[task.kind]
    outputs = {name: ["float32", shape] for name, shape in shapes.items()}
    return {"inputs": inputs, "outputs": outputs}


def with_sizes(shape, sizes):
    """A shape with free sizes chosen.

    Args:
        shape: list of int and names.
        sizes: dict from name to int, or to `None` for what stays free. Names
            that are not in it stay as they are.

    >>> with_sizes(["batch", "length", 8], {"batch": 1})
    [1, 'length', 8]
    """
    return [sizes.get(size, size) for size in shape]
