"""Runs all checks: lint, format, then the tests on the three backends.

    python -m tests                          # everything
    python -m tests --backend jax -k lamb    # one backend, pytest's options

Two pytest processes run at a time, each on its own backend. The last lines
are a table and the total; the exit code is 0 only if every check passed.
"""

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ("tensorflow", "jax", "torch")
PROCESSES = 2
LINT = (("ruff", "check", "."), ("ruff", "format", "--check", "."))
NO_TESTS_RAN = 5

_PRINTING = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one check came to."""

    name: str
    exit_code: int
    seconds: float
    closing_line: str = ""

    @property
    def ok(self):
        return self.exit_code == 0

    def count(self, *words):
        """The number before any of `words` in pytest's closing line."""
        found = re.findall(r"(\d+) (\w+)", self.closing_line)
        return sum(int(number) for number, word in found if word in words)

    @property
    def passed(self):
        return self.count("passed", "xfailed")

    @property
    def failed(self):
        counted = self.count("failed", "error", "errors", "xpassed")
        # A crash leaves no closing line, yet must never read as success.
        return counted or int(not self.ok)

    @property
    def skipped(self):
        return self.count("skipped")


def stream(name, command, environment):
    """Runs `command`, printing each line as it comes; returns an Outcome."""
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    closing_line = ""
    for line in process.stdout:
        if re.search(r"\d+ \w+.* in [\d.]+s", line):
            closing_line = line.strip("= \n")
        with _PRINTING:
            print(f"{name:>10} | {line}", end="", flush=True)
    exit_code = process.wait()
    return Outcome(name, exit_code, time.monotonic() - started, closing_line)


def lint():
    """Runs ruff's two checks, one Outcome each."""
    return [
        stream(" ".join(command[:2]), [sys.executable, "-m", *command], None)
        for command in LINT
    ]


def run_backend(backend, pytest_arguments, processes):
    """Runs pytest under one Keras backend."""
    environment = {**os.environ, "KERAS_BACKEND": backend}
    if processes > 1:
        # Two runs with as many threads as cores each would fight for them.
        environment.setdefault("OMP_NUM_THREADS", "1")
    command = [sys.executable, "-m", "pytest", *pytest_arguments]
    outcome = stream(backend, command, environment)
    if outcome.exit_code == NO_TESTS_RAN and pytest_arguments:
        # `-k name` may match tests of one backend only; the total at the end
        # still fails when no backend ran any.
        return dataclasses.replace(outcome, exit_code=0)
    return outcome


def table(outcomes):
    """The closing table as text."""
    rows = [("", "passed", "failed", "skipped", "time")]
    for outcome in outcomes:
        counts = ("ok" if outcome.ok else "FAILED", "", "")
        if outcome.name in BACKENDS:
            counts = (outcome.passed, outcome.failed, outcome.skipped)
        minutes, seconds = divmod(round(outcome.seconds), 60)
        rows.append((outcome.name, *counts, f"{minutes}:{seconds:02d}"))
    return "\n".join(
        f"{row[0]:<12}" + "".join(f"{cell!s:>9}" for cell in row[1:])
        for row in rows
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests",
        description=__doc__.splitlines()[0],
        epilog="All other options go to pytest.",
    )
    parser.add_argument("--backend", choices=BACKENDS, action="append")
    options, pytest_arguments = parser.parse_known_args(arguments)
    backends = options.backend or BACKENDS

    outcomes = [] if pytest_arguments else lint()
    processes = min(PROCESSES, len(backends))
    with ThreadPoolExecutor(processes) as pool:
        outcomes += pool.map(
            lambda name: run_backend(name, pytest_arguments, processes),
            backends,
        )

    runs = [outcome for outcome in outcomes if outcome.name in BACKENDS]
    print()
    for run in runs:
        print(f"{run.name}: {run.closing_line or 'no closing line (crash?)'}")
    print(f"\n{table(outcomes)}\n")
    passed = sum(run.passed for run in runs)
    failed = sum(run.failed for run in runs)
    skipped = sum(run.skipped for run in runs)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(not all(outcome.ok for outcome in outcomes) or not passed)


if __name__ == "__main__":
    sys.exit(main())
