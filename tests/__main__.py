"""Runs all checks: lint, format, then the tests on the three backends.

    python -m tests                          # everything
    python -m tests --backend jax -k lamb    # one backend, pytest's options

Two pytest processes run at a time; TensorFlow's, which has most tests, is in
two parts. The last lines are a table and the total; the exit code is 0 only if
every check passed.
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
# What is left for the process that is first done with another backend: as much
# as lets both end together.
LATER = tuple(
    f"tests/training/test_{name}.py"
    for name in (
        "exact_resume",
        "finetune",
        "plan",
        "pretrain",
        "tensorflow_distribution",
    )
)
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


def plan_runs(backends, pytest_arguments):
    """Lists the name, the backend and the pytest arguments of each run."""
    runs = [(name, name, pytest_arguments) for name in backends]
    if pytest_arguments or "tensorflow" not in backends:
        return runs
    first, *others = sorted(runs, key=lambda run: run[0] != "tensorflow")
    parts = [
        (first[0], "tensorflow", [f"--ignore={path}" for path in LATER]),
        (f"{first[0]} runs", "tensorflow", list(LATER)),
    ]
    return [parts[0], *others[:1], parts[1], *others[1:]]


def run_tests(name, backend, pytest_arguments, processes):
    """Runs pytest under one Keras backend."""
    environment = {**os.environ, "KERAS_BACKEND": backend}
    if processes > 1:
        # Two runs with as many threads as cores each would fight for them.
        environment.setdefault("OMP_NUM_THREADS", "1")
    command = [sys.executable, "-m", "pytest", *pytest_arguments]
    return stream(name, command, environment)


def accept_no_tests(outcome):
    """Passes a run without tests: `-k name` may match on one backend only.

    The total at the end still fails when no backend ran any.
    """
    if outcome.exit_code == NO_TESTS_RAN:
        return dataclasses.replace(outcome, exit_code=0)
    return outcome


def is_run(outcome):
    """Whether the check was a run of pytest."""
    return outcome.name.split()[0] in BACKENDS


def table(outcomes):
    """The closing table as text."""
    rows = [("", "passed", "failed", "skipped", "time")]
    for outcome in outcomes:
        counts = ("ok" if outcome.ok else "FAILED", "", "")
        if is_run(outcome):
            counts = (outcome.passed, outcome.failed, outcome.skipped)
        minutes, seconds = divmod(round(outcome.seconds), 60)
        rows.append((outcome.name, *counts, f"{minutes}:{seconds:02d}"))
    return "\n".join(
        f"{row[0]:<20}" + "".join(f"{cell!s:>9}" for cell in row[1:])
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
    planned = plan_runs(backends, pytest_arguments)
    processes = min(PROCESSES, len(planned))
    with ThreadPoolExecutor(processes) as pool:
        runs = list(pool.map(lambda run: run_tests(*run, processes), planned))
    if pytest_arguments:
        runs = [accept_no_tests(run) for run in runs]
    outcomes += runs

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
