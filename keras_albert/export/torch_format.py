"""PyTorch: an archive of `torch.export`, with batch and length free."""

import tempfile
from pathlib import Path

import numpy as np

from keras_albert.export.child_process import run_python
from keras_albert.export.conformance import check_cases
from keras_albert.export.conformance import padded_inputs
from keras_albert.export.extra import import_extra
from keras_albert.export.token_signature import BATCH
from keras_albert.export.token_signature import LENGTH
from keras_albert.export.token_signature import MASKS
from keras_albert.export.token_signature import token_signature
from keras_albert.export.token_signature import with_sizes

NAME = "torch"
MODEL_FILE = "model.pt2"
SIZES = {}  # all are free
# PyTorch may take a size of 0 or 1 for one that never changes.
TRACED_SIZES = {BATCH: 2, LENGTH: 3, MASKS: 2}
# Vectors and logits are sums of many products, and differ a little more.
TOLERANCES = {"probabilities": 1e-5}


def check_installed():
    """Fails early where the extra is missing."""
    import_extra("torch", NAME)


def build(task, model):
    """Copies the weights into the module that is written.

    Args:
        task: `ServedTask`.
        model: the Keras model, on any backend.

    Returns:
        `TorchModel`.
    """
    from keras_albert.export.torch_model import TorchModel

    return TorchModel(task, model)


def write(folder, task, torch_model, lengths):
    """Writes `model.pt2`.

    Args:
        folder: path.
        task: `ServedTask`.
        torch_model: `TorchModel`.
        lengths: not needed: one program takes all of them.
    """
    torch = import_extra("torch", NAME)
    num_positions = len(torch_model.encoder.positions)
    free = {
        BATCH: torch.export.Dim(BATCH),
        LENGTH: torch.export.Dim(LENGTH, max=num_positions),
        MASKS: torch.export.Dim(MASKS),
    }
    shapes = {
        name: shape
        for name, (_, shape) in token_signature(task)["inputs"].items()
    }
    inputs = {
        name: torch.zeros(with_sizes(shape, TRACED_SIZES), dtype=torch.int32)
        for name, shape in shapes.items()
    }
    program = torch.export.export(
        torch_model.eval(),
        (),
        inputs,
        dynamic_shapes={
            name: tuple(free[size] for size in shape)
            for name, shape in shapes.items()
        },
    )
    torch.export.save(program, Path(folder) / MODEL_FILE)


def check(folder, task, cases, lengths):
    """Compares the answers of PyTorch alone with the stored ones.

    A fresh process, in which there is no Keras, is asked for all texts in one
    padded batch, for single texts and for a batch of none.

    Args:
        folder: path that holds `model.pt2`.
        task: `ServedTask`.
        cases: list of `ConformanceCase`.
        lengths: not needed.

    Returns:
        Float. The largest difference.

    Raises:
        ValueError: if an answer differs.
    """
    batches = [cases, *([case] for case in cases)]
    questions = [padded_inputs(batch) for batch in batches]
    none = {name: x[:0] for name, x in questions[0].items()}
    *answers, nothing = ask(folder, [*questions, none])
    for name, values in nothing.items():
        if len(values):
            raise ValueError(
                f"A batch of none gave {len(values)} rows of {name} in PyTorch."
            )
    return max(
        check_cases(batch, found, "PyTorch", TOLERANCES)
        for batch, found in zip(batches, answers, strict=True)
    )


def ask(folder, questions):
    """Runs the archive in a process of its own.

    Args:
        folder: path that holds `model.pt2`.
        questions: list of dicts of arrays, one for each batch.

    Returns:
        List of dicts of arrays.

    Raises:
        ValueError: with PyTorch's message, if it does not run.
    """
    script = Path(__file__).with_name("torch_process.py")
    model_file = Path(folder, MODEL_FILE).resolve()
    names = [f"{i:06}.npz" for i in range(len(questions))]
    with (
        tempfile.TemporaryDirectory() as asked,
        tempfile.TemporaryDirectory() as answered,
    ):
        for name, arrays in zip(names, questions, strict=True):
            np.savez(Path(asked, name), **arrays)
        run_python(
            # -P keeps this folder, and with it our names, off sys.path.
            ["-P", str(script), str(model_file), asked, answered],
            f"{MODEL_FILE} does not run in a fresh process",
        )
        return [dict(np.load(Path(answered, name))) for name in names]


def example(signature, lengths):
    """Python lines that ask the model, for the README."""
    feeds = "".join(f"    {name}={name},\n" for name in signature["inputs"])
    return f"""\
```python
import torch

module = torch.export.load("{MODEL_FILE}").module()
answer = module(
{feeds})
```

The inputs are int32 tensors, given by name. Batch and length are free
(`length` up to that of the model); pad rows to the longest of a batch. Only
PyTorch is needed. Load such a file only if you trust where it comes from:
`torch.export.load` may unpickle what is in it, which can run any code."""
