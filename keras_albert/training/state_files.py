"""The state of a run in one file, whole or not there, to go on from exactly.

    step-00000123.weights.h5          weights, moments, averages, iteration,
                                      loss scale, and the state of each dropout
    step-00000123.weights.h5.sha256   proves it whole

Keras's own weights file lacks the dropouts: a run resumed from it drops other
units than the undisturbed run.
"""

import hashlib
from pathlib import Path

import h5py
import numpy as np
from keras import ops

from keras_albert.data.whole_files import remove_leftovers
from keras_albert.data.whole_files import replace_atomically
from keras_albert.data.whole_files import write_atomically
from keras_albert.training.seeding import dropout_generators

STATE_NAME = "step-{:08d}.weights.h5"
_DROPOUT = "dropout_states"


def save_state(model, folder, step, check=None):
    """Writes the state of a compiled model.

    Args:
        model: compiled `keras.Model`.
        folder: path. Made if it is missing.
        step: int. Gives the file its name.
        check: function called before the file gets its name; what it raises
            leaves no file. Optional.

    Returns:
        The path of the file.
    """
    _build_optimizer(model)
    path = Path(folder) / STATE_NAME.format(step)
    with replace_atomically(path) as temporary:
        model.save_weights(temporary)
        # After saving, which brings JAX's state back into the variables.
        if check is not None:
            check()
        with h5py.File(temporary, "a") as file:
            file[_DROPOUT] = _dropout_states(model)
        # Before the renaming: a state never lacks its proof.
        write_atomically(
            _proof_of(path), f"{_sha256(temporary)}  {path.name}\n"
        )
    return path


def restore_state(model, path):
    """Brings a compiled model to the state in a file.

    Args:
        model: compiled `keras.Model` of the same architecture and optimizer.
        path: path of a state.

    Raises:
        ValueError: if the state is of a model with other dropouts, or of
            another optimizer.
    """
    _build_optimizer(model)
    with h5py.File(path) as file:
        states = file[_DROPOUT][:]
        saved = len(file["optimizer/vars"])
    if saved != len(model.optimizer.variables):
        raise ValueError(
            f"{path} holds {saved} variables of the optimizer, the model has "
            f"{len(model.optimizer.variables)}. Go on with the optimizer that "
            "the run began with."
        )
    model.load_weights(path)
    generators = dropout_generators(model)
    if len(states) != len(generators):
        raise ValueError(
            f"{path} holds the state of {len(states)} dropouts, the model has "
            f"{len(generators)}. Go on with the model that the run began with."
        )
    for generator, state in zip(generators, states, strict=True):
        generator.state.assign(state)


def _build_optimizer(model):
    # Keras skips an optimizer without slots with no more than a warning. One
    # that scales the loss would get more variables from a second build.
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def last_state(folder):
    """Returns `(step, path)` of the newest whole state, or `(0, None)`.

    One whose content does not match its proof, as after a full disk or a
    failing one, is passed over for the one before it.
    """
    return find_state(folder)[:2]


def find_state(folder):
    """Returns `last_state`, and the newer states that it passed over.

    Args:
        folder: path.

    Returns:
        Tuple `(step, path, damaged)`; `damaged` is a list of paths, the newest
        first.
    """
    damaged = []
    for step, path in sorted(list_states(folder).items(), reverse=True):
        if _is_whole(path):
            return step, path, damaged
        damaged.append(path)
    return 0, None, damaged


def list_states(folder):
    """Returns a dict from step to path of all states, whole or not.

    Other files of whoever owns the folder are none of them.
    """
    found = {}
    for path in Path(folder).glob("step-*.weights.h5"):
        step = path.name.removeprefix("step-").removesuffix(".weights.h5")
        if step.isascii() and step.isdigit() and path.is_file():
            found[int(step)] = path
    return found


def remove_state(path):
    """Removes a state and its proof."""
    path.unlink()
    _proof_of(path).unlink(missing_ok=True)


def tidy_states(folder):
    """Removes what a killed process left: half a state, a proof of nothing."""
    remove_leftovers(folder)
    for proof in Path(folder).glob("step-*.sha256"):
        if not proof.with_suffix("").is_file():
            proof.unlink()


def _dropout_states(model):
    states = [
        ops.convert_to_numpy(generator.state.value)
        for generator in dropout_generators(model)
    ]
    return np.asarray(states, "int64").reshape(len(states), 2)


def _is_whole(path):
    proof = _proof_of(path)
    told = proof.read_bytes().split() if proof.is_file() else []
    return told[:1] == [_sha256(path).encode()]


def _proof_of(path):
    return path.with_name(f"{path.name}.sha256")


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
