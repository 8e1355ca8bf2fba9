"""Starts programs on several devices or in several processes, and waits."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np

from keras_albert.training.step_log import read_steps

ROOT = Path(__file__).resolve().parent.parent.parent
# A crowded machine needs minutes for what takes seconds.
LIMIT = 900


def free_ports(number):
    """Numbers of ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def launch(environments, arguments, exit_codes=None):
    """Runs `distribution_cases` once for each environment, all at a time."""
    command = [sys.executable, "-m", "tests.training.distribution_cases"]
    ended = run_together(
        environments, [*command, *map(str, arguments)], cwd=ROOT
    )
    exit_codes = exit_codes or [0] * len(environments)
    for each, expected in zip(ended, exit_codes, strict=True):
        assert each.exit_code == expected, each.stderr[-3000:]


@dataclasses.dataclass(frozen=True)
class Ended:
    """What a program left."""

    exit_code: int
    stdout: str
    stderr: str


def run_together(environments, command, cwd, meanwhile=None):
    """Runs a command once for each environment, all at a time.

    Args:
        environments: list of dicts.
        command: list of strings.
        cwd: path.
        meanwhile: function of the processes, called when they have started.

    Returns:
        List of `Ended`.
    """
    started = [
        subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for environment in environments
    ]
    try:
        # Each is read by a thread, or one with much to say would wait.
        with ThreadPoolExecutor(len(started)) as pool:
            outputs = pool.map(lambda p: p.communicate(timeout=LIMIT), started)
            if meanwhile is not None:
                meanwhile(started)
            outputs = list(outputs)
    finally:
        for each in started:
            each.kill()
    return [
        Ended(each.returncode, *output)
        for each, output in zip(started, outputs, strict=True)
    ]


def run_command_lines(environments, distribution, folder, stop=False):
    """Runs `keras-albert pretrain` on a text file, in several processes.

    Args:
        environments: list of dicts.
        distribution: string.
        folder: path of the text, and of the output `run`.
        stop: bool. Whether to ask process 1 to stop after its first step.

    Returns:
        List of `Ended`.
    """
    command = [
        *(sys.executable, "-m", "keras_albert.cli.main", "pretrain"),
        *("--corpus", "corpus.txt", "--tokenizer", "vocab.txt"),
        *("--config", "config.json", "--output", "run", "--steps", "40"),
        *("--batch-size", "8", "--sequence-length", "16"),
        *("--evaluation-every", "20", "--held-out-share", "0.1"),
        *("--backend", os.environ["KERAS_BACKEND"]),
        *("--distribution", distribution),
    ]

    def stop_one(processes):
        steps = folder / "run" / "steps.jsonl"
        while not (steps.is_file() and steps.stat().st_size):
            assert all(each.poll() is None for each in processes)
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGTERM)

    environments = [
        {**each, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        for each in environments
    ]
    return run_together(
        environments, command, folder, meanwhile=stop_one if stop else None
    )


def write_inputs(folder):
    """Writes text, vocabulary and configuration for `run_command_lines`."""
    letters = "abcdefgh"
    line = " ".join(letters)
    documents = [
        "\n".join([line[2 * start :] + " " + line] * 3) for start in range(4)
    ]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    sizes = {
        "num_layers": 2,
        "num_heads": 2,
        "embedding_dim": 8,
        "hidden_dim": 16,
        "intermediate_dim": 24,
        "max_sequence_length": 32,
    }
    (folder / "corpus.txt").write_text("\n\n".join(documents * 5) + "\n")
    (folder / "vocab.txt").write_text("\n".join([*special, *letters]) + "\n")
    (folder / "config.json").write_text(json.dumps(sizes))


def assert_one_run(stopped, finished, folder):
    """A run of two command lines that was stopped, and went on.

    Args:
        stopped, finished: lists of two `Ended`.
        folder: path with the output `run`.
    """
    for each in stopped:
        assert each.exit_code == 130, each.stderr[-3000:]
        assert "Stopped after step" in each.stderr
        assert "run/checkpoints/step-000000" in each.stderr
    for each in finished:
        assert each.exit_code == 0, each.stderr[-3000:]
    chief, other = finished
    assert "MLM loss on held-out text" in chief.stdout
    assert "pretraining" in chief.stderr
    # The other process says that it takes part, and no more.
    said = [t for t in other.stdout.splitlines() if "[Gloo]" not in t]
    assert said == []
    said = [t for t in other.stderr.splitlines() if t.strip()]
    assert said == ["Process 1 of 2; process 0 shows and writes the run."]
    steps = read_steps(folder / "run" / "steps.jsonl")
    assert [record["step"] for record in steps] == list(range(1, 41))
    assert (folder / "run" / "preset" / "model.weights.h5").is_file()


def results(folder, name, process=0):
    with np.load(folder / f"{name}_{process}.npz") as file:
        return dict(file)


def assert_alike(found, expected, prefix, tolerance=1e-5):
    """Loss, accuracy, weights and averages of `distribution_cases.train`."""
    for key in ("loss", "masked_lm_loss", "accuracy"):
        np.testing.assert_allclose(
            found[f"{prefix}/{key}"], expected[key], rtol=tolerance, err_msg=key
        )
    for kind in ("weights", "averages"):
        for index, weight in enumerate(expected[kind]):
            np.testing.assert_allclose(
                found[f"{prefix}/{kind}/{index:02d}"],
                weight,
                atol=tolerance,
                err_msg=kind,
            )


def assert_same_steps(found, expected):
    """Losses, accuracies and gradient norms of every step of two runs.

    Args:
        found, expected: paths of the runs' output folders.
    """
    found, expected = (
        read_steps(folder / "steps.jsonl") for folder in (found, expected)
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["step"] == theirs["step"]
        assert theirs["gradient_norm"] > 0
        for name in ("loss", "masked_lm_accuracy", "gradient_norm"):
            np.testing.assert_allclose(
                ours[name], theirs[name], rtol=1e-5, err_msg=name
            )


def assert_same_run(found, expected):
    """Two runs with the same steps, and the same averaged weights saved."""
    assert_same_steps(found, expected)
    # Other processes wrote nothing there.
    assert {p.name for p in found.iterdir()} == {
        p.name for p in expected.iterdir()
    }
    for name in ("model.weights.h5", "task.weights.h5"):
        ours, theirs = (
            saved_arrays(folder / "preset" / name)
            for folder in (found, expected)
        )
        assert ours.keys() == theirs.keys()
        for path, value in theirs.items():
            np.testing.assert_allclose(ours[path], value, atol=1e-5)


def saved_arrays(path):
    """All arrays of a weights file by their paths."""
    arrays = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    with h5py.File(path) as file:
        file.visititems(keep)
    return arrays


def assert_all_rows(found, scores, rows, prefix=""):
    """Every example counted, every row returned, in order."""
    for key, value in scores.items():
        np.testing.assert_allclose(
            found[f"{prefix}scores/{key}"], value, rtol=1e-5
        )
    for key, value in rows.items():
        np.testing.assert_allclose(
            found[f"{prefix}rows/{key}"], value, atol=1e-5
        )
