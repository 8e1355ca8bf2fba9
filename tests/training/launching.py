"""Starts programs on several devices or in several processes, and waits."""

import os
import socket
import subprocess
import sys
from pathlib import Path

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


def launch(environments, arguments):
    """Runs `distribution_cases` once for each environment, all at a time."""
    command = [sys.executable, "-m", "tests.training.distribution_cases"]
    started = [
        subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for environment in environments
    ]
    try:
        outputs = [each.communicate(timeout=LIMIT)[0] for each in started]
    finally:
        for each in started:
            each.kill()
    for each, output in zip(started, outputs, strict=True):
        assert each.returncode == 0, output[-3000:]


def results(folder, name, process=0):
    with np.load(folder / f"{name}_{process}.npz") as file:
        return dict(file)


def assert_alike(found, expected, prefix):
    """Loss, accuracy and weights of `distribution_cases.train`, to 1e-5."""
    for key in ("loss", "masked_lm_loss", "accuracy"):
        np.testing.assert_allclose(
            found[f"{prefix}/{key}"], expected[key], rtol=1e-5, err_msg=key
        )
    for index, weight in enumerate(expected["weights"]):
        np.testing.assert_allclose(
            found[f"{prefix}/weights/{index:02d}"], weight, atol=1e-5
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


def assert_all_rows(found, scores, rows):
    """Every example counted, every row returned, in order."""
    for key, value in scores.items():
        np.testing.assert_allclose(found[f"scores/{key}"], value, rtol=1e-5)
    for key, value in rows.items():
        np.testing.assert_allclose(found[f"rows/{key}"], value, atol=1e-5)
