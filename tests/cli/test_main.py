"""The command line answers at once and imports nothing heavy for it."""

import json
import resource
import subprocess
import sys

import pytest
import typer.main

from keras_albert.cli.main import app

COMMANDS = sorted(typer.main.get_command(app).commands)
HEAVY = {
    "jax",
    "keras",
    "keras_hub",
    "matplotlib",
    "numpy",
    "sentencepiece",
    "tensorflow",
    "torch",
}
# The entry point, then the names of all modules that it loaded.
ENTRY_POINT = """
import json, sys
sys.argv = ["keras-albert", *sys.argv[1:]]
from keras_albert.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
finally:
    names = sorted({name.split(".")[0] for name in sys.modules})
    print("MODULES", json.dumps(names))
"""


def run_python(*arguments):
    """Output of a fresh interpreter, and the processor seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result.stderr
    user = after.ru_utime - before.ru_utime
    return result.stdout, user + after.ru_stime - before.ru_stime


def test_the_commands_are_these():
    assert COMMANDS == [
        "convert",
        "data-service",
        "explain",
        "export",
        "finetune",
        "inspect-corpus",
        "plan",
        "predict",
        "prepare",
        "pretrain",
        "quickstart",
        "release",
        "serve",
        "sizes",
        "train-tokenizer",
    ]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_loads_nothing_heavy(command):
    arguments = [command] if command else []
    output, _ = run_python("-c", ENTRY_POINT, *arguments, "--help")

    text, _, modules = output.partition("MODULES ")
    assert "Usage" in text
    assert HEAVY & set(json.loads(modules)) == set()


def test_help_answers_at_once():
    """Half a second; processor time, since others may use the machine."""
    help_seconds, python_seconds = (
        min(run_python(*arguments)[1] for _ in range(3))
        for arguments in (
            ("-c", ENTRY_POINT, "pretrain", "--help"),
            ("-c", "pass"),
        )
    )

    # A slow machine may take twice as long as the half second promised.
    assert help_seconds < 1
    assert help_seconds < 40 * python_seconds


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    parameters = typer.main.get_command(app).commands[command].params
    hidden = {"help", "scale"}
    missing = [
        p.name for p in parameters if p.name not in hidden and not p.help
    ]
    assert not missing


@pytest.mark.parametrize("command", COMMANDS)
def test_only_what_nobody_can_guess_is_required(command):
    parameters = typer.main.get_command(app).commands[command].params
    required = {p.name for p in parameters if p.required}
    known = {"files", "corpus", "tokenizer", "model", "train"}
    assert required <= known | {"source", "destination", "folder"}


def test_wrong_command_is_code_2():
    result = subprocess.run(
        [sys.executable, "-m", "keras_albert.cli.main", "pretain"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "pretrain" in result.stderr
