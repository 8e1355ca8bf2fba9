"""Runs a part of an export in a Python process of its own."""

import os
import subprocess
import sys


def run_python(arguments, failure, **environment):
    """Runs Python and waits for it.

    Args:
        arguments: list of strings, what follows `python`.
        failure: string. What it means that the process failed.
        **environment: string. Variables besides those of this process.

    Raises:
        ValueError: `failure` and the process's error, if it failed.
    """
    run = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if run.returncode != 0:
        raise ValueError(f"{failure}: {last_error(run.stderr)}")


def last_error(stderr):
    """Picks the line of a traceback that says what went wrong."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    for line in reversed(lines):
        head = line.split(":")[0].split(".")[-1]
        if not line.startswith(" ") and head.endswith(("Error", "Exception")):
            return line
    return lines[-1] if lines else "it ended without a message."
