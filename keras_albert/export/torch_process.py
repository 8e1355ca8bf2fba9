"""Runs a `torch.export` archive in a process of its own.

`python -P torch_process.py model.pt2 questions answers`, with no import of
keras_albert, Keras or TensorFlow: what works here works for anyone who has
PyTorch and is given the file. `questions` is a folder with one `.npz` file for
each batch, `answers` gets one of the same name for each.
"""

import sys
from pathlib import Path

import numpy as np
import torch

FOREIGN = ("keras", "keras_albert", "tensorflow")


def answer(model_file, questions, answers):
    """Answers all batches.

    Args:
        model_file: path of the archive.
        questions: path of a folder.
        answers: path of a folder.

    Raises:
        RuntimeError: if the model needed more than PyTorch.
    """
    module = torch.export.load(model_file).module()
    for question in sorted(Path(questions).glob("*.npz")):
        with np.load(question) as arrays:
            inputs = {name: torch.from_numpy(arrays[name]) for name in arrays}
        with torch.inference_mode():
            found = module(**inputs)
        values = {name: value.numpy() for name, value in found.items()}
        np.savez(Path(answers, question.name), **values)
    foreign = [name for name in FOREIGN if name in sys.modules]
    if foreign:
        raise RuntimeError(f"The model imports {', '.join(foreign)}.")


if __name__ == "__main__":
    answer(*sys.argv[1:])
