"""The command that runs all checks must never take a failure for success."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).with_name("__main__.py")


@pytest.fixture
def checks(monkeypatch):
    """The module `tests.__main__`, with commands of our own to run."""
    spec = importlib.util.spec_from_file_location("tests_main", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tests_main", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "lint", list)
    return module


def pretend_pytest(checks, monkeypatch, endings):
    """Makes each backend print a line and end with an exit code."""
    real = checks.stream

    def stream(name, command, environment):
        line, exit_code = endings[environment["KERAS_BACKEND"]]
        code = f"print({line!r}); raise SystemExit({exit_code})"
        return real(name, [sys.executable, "-c", code], environment)

    monkeypatch.setattr(checks, "stream", stream)


def endings(**changes):
    passing = ("3 passed, 1 skipped, 7 deselected in 1.25s", 0)
    return dict.fromkeys(("tensorflow", "jax", "torch"), passing) | changes


def test_all_passing(checks, monkeypatch, capsys):
    pretend_pytest(checks, monkeypatch, endings())

    assert checks.main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    # TensorFlow runs in two parts.
    assert lines[-1] == "12 passed, 0 failed, 4 skipped"
    assert "jax: 3 passed, 1 skipped, 7 deselected in 1.25s" in lines


@pytest.mark.parametrize(
    "ending, failed",
    [
        (("2 failed, 1 passed in 61.00s (0:01:01)", 1), 2),
        (("1 passed, 1 error in 0.10s", 1), 1),
        (("Segmentation fault", 139), 1),
        (("1 passed in 0.10s", 3), 1),
        (("no tests ran in 0.01s", 5), 1),
    ],
)
def test_one_backend_failing_fails_all(
    checks, monkeypatch, capsys, ending, failed
):
    pretend_pytest(checks, monkeypatch, endings(torch=ending))

    assert checks.main([]) == 1

    closing = capsys.readouterr().out.splitlines()[-1]
    assert f"{failed} failed" in closing


def test_failing_lint_fails_all(checks, monkeypatch):
    pretend_pytest(checks, monkeypatch, endings())
    bad = checks.Outcome("ruff check", exit_code=1, seconds=0.0)
    monkeypatch.setattr(checks, "lint", lambda: [bad])

    assert checks.main([]) == 1


NONE = ("9 deselected in 0.01s", 5)


def test_filter_may_leave_some_backends_without_tests(checks, monkeypatch):
    pretend_pytest(checks, monkeypatch, endings(torch=NONE, jax=NONE))

    assert checks.main(["-k", "word"]) == 0


def test_filter_that_matches_nothing_fails(checks, monkeypatch):
    every = dict.fromkeys(endings(), NONE)
    pretend_pytest(checks, monkeypatch, every)

    assert checks.main(["-k", "word"]) == 1


def test_backend_and_pytest_options_pass_through(checks, monkeypatch):
    seen = []

    def stream(name, command, environment):
        seen.append((environment["KERAS_BACKEND"], command[3:]))
        return checks.Outcome(name, 0, 1.0, "1 passed in 0.10s")

    monkeypatch.setattr(checks, "stream", stream)

    assert checks.main(["--backend", "jax", "-k", "lamb", "-x"]) == 0
    assert seen == [("jax", ["-k", "lamb", "-x"])]


def test_the_two_parts_of_tensorflow_are_all_of_it(checks):
    planned = checks.plan_runs(checks.BACKENDS, [])

    parts = [arguments for _, name, arguments in planned if name != "jax"]
    assert parts == [
        [f"--ignore={path}" for path in checks.LATER],
        list(checks.LATER),
        [],
    ]
    assert all((PATH.parent.parent / path).is_file() for path in checks.LATER)
    assert [name for _, name, _ in planned].count("jax") == 1
