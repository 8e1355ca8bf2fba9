"""How commands are tested: the real app, with the library replaced."""

import sys

import pytest
from typer.testing import CliRunner

from keras_albert.cli.main import app


class Recorder:
    """A function that remembers its arguments and gives back a value."""

    def __init__(self, result=None):
        self.result = result
        self.arguments = ()
        self.options = None

    def __call__(self, *arguments, **options):
        self.arguments = arguments
        self.options = options
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.fixture
def run_command():
    """Runs a command line given as a list; returns typer's result."""

    def run(*arguments):
        return CliRunner(env={"COLUMNS": "100"}).invoke(
            app, [str(argument) for argument in arguments]
        )

    return run


@pytest.fixture
def replace(monkeypatch):
    """Replaces `name` of a module by a `Recorder`, which it returns."""

    def replace(module, name, result=None):
        recorder = Recorder(result)
        monkeypatch.setattr(sys.modules[module], name, recorder)
        return recorder

    return replace
