"""Killed at any moment, the same call goes on to the very same numbers."""

import json
import os
import signal
import subprocess
import sys

import h5py
import keras
import numpy as np
import pytest

from keras_albert.training.pretrain import pretrain
from keras_albert.training.pretrain_result import load_pretrained
from keras_albert.training.step_log import read_steps
from tests.conftest import TESTS
from tests.training.conftest import LETTERS
from tests.training.conftest import SPECIAL

pytestmark = pytest.mark.every_backend

# What depends on the clock, not on the run.
TIMES = {
    "seconds",
    "seconds_left",
    "tokens_per_second",
    "flops_per_second",
    "data_wait_share",
}


class Crash(BaseException):
    """As little as `SIGKILL` does it give anyone time to save."""


class CrashAt(keras.callbacks.Callback):
    """Ends the run at the start of a batch, counted in this call."""

    def __init__(self, batch):
        super().__init__()
        self.left = batch

    def on_train_batch_begin(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            raise Crash


class CrashInEvaluation(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        raise Crash


@pytest.fixture(scope="module")
def arguments(documents, tiny_config):
    """LAMB, dropout, parts, averages, two lengths in turn; an evaluation amid
    checkpoints."""
    return {
        "corpus": documents,
        "config": {
            **tiny_config,
            "num_layers": 1,
            "hidden_dropout": 0.1,
            "attention_dropout": 0.1,
        },
        "steps": 6,
        "phases": "8x2+16x4:100%",
        "accumulate": 2,
        "optimizer": "lamb",
        "learning_rate": 0.02,
        "ema_momentum": 0.5,
        "evaluation_every": 4,
        "checkpoint_every": 2,
        "seed": 3,
        "jit_compile": keras.backend.backend() == "jax",
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, arguments, tokenizer):
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    return pretrain(**arguments, tokenizer=tokenizer, output=output)


def without_times(records):
    return [
        {k: v for k, v in record.items() if k not in TIMES}
        for record in records
    ]


def assert_same(resumed, expected):
    """Bit by bit: every step, every evaluation, every weight."""
    steps = read_steps(resumed.steps_file)
    assert without_times(steps) == without_times(
        read_steps(expected.steps_file)
    )
    assert [record["step"] for record in steps] == [1, 2, 3, 4, 5, 6]
    assert without_times(resumed.history) == without_times(expected.history)
    for ours, theirs in zip(
        load_pretrained(resumed).get_weights(),
        load_pretrained(expected).get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_killed_while_saving_and_crashed_in_the_middle_of_an_update(
    arguments, undisturbed, tokenizer, tmp_path
):
    output = tmp_path / "out"
    file = tmp_path / "arguments.json"
    file.write_text(
        json.dumps(
            {
                **arguments,
                "tokenizer": [*SPECIAL, *LETTERS],
                "output": str(output),
            }
        )
    )
    killed = subprocess.run(
        [sys.executable, "-m", "tests.training.killed_run", str(file), "2"],
        cwd=TESTS.parent,
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list((output / "checkpoints").glob(".writing-*"))

    # From the start, since step 2 has no state, and through its first states
    # into the second part of update 4.
    with pytest.raises(Crash):
        pretrain(
            **arguments,
            tokenizer=tokenizer,
            output=output,
            callbacks=[CrashAt(8)],
        )
    resumed = pretrain(**arguments, tokenizer=tokenizer, output=output)

    assert resumed.resumed_from == 2
    assert_same(resumed, undisturbed)
    assert not list(output.rglob(".writing-*"))


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="what is evaluated when does not depend on the backend",
)
def test_crashed_between_a_state_and_its_evaluation(
    arguments, undisturbed, tokenizer, tmp_path
):
    call = {**arguments, "tokenizer": tokenizer, "output": tmp_path / "out"}
    with pytest.raises(Crash):
        pretrain(**call, callbacks=[CrashInEvaluation()])

    resumed = pretrain(**call)

    assert resumed.resumed_from == 4
    assert_same(resumed, undisturbed)


def last_state(output):
    """All arrays of a run's last state, by name."""
    path = max((output / "checkpoints").glob("step-*.weights.h5"))
    arrays = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                arrays.update({name: item[()]})
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
    return arrays


def test_the_scale_of_the_loss_goes_on(arguments, tokenizer, tmp_path):
    call = {
        **arguments,
        "tokenizer": tokenizer,
        "dtype": "mixed_float16",
        "accumulate": 1,
        "optimizer": "adamw",
        "ema_momentum": None,
        "evaluation_every": 6,
    }
    pretrain(**call, output=tmp_path / "whole")
    with pytest.raises(Crash):
        pretrain(**call, output=tmp_path / "out", callbacks=[CrashAt(5)])
    resumed = pretrain(**call, output=tmp_path / "out")

    assert resumed.resumed_from == 4
    expected, found = (last_state(tmp_path / n) for n in ("whole", "out"))
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    # The scale itself, and the steps since it last changed.
    scales = [v for v in expected.values() if v.shape == () and v >= 2**10]
    assert scales, sorted(expected)
