import os
import sys

import pytest
import typer
from typer.testing import CliRunner

from keras_albert.cli import options


@pytest.mark.parametrize(
    "given, expected",
    [
        ("--corpus a b --steps 2", "--corpus a --corpus b --steps 2"),
        ("--corpus a --corpus b", "--corpus a --corpus b"),
        ("-n 1 --corpus a b", "-n 1 --corpus a --corpus b"),
        ("--steps 2 3 --corpus a", "--steps 2 3 --corpus a"),
        ("--corpus=a b", "--corpus=a b"),
        ("--corpus", "--corpus"),
        ("", ""),
    ],
)
def test_repeat_list_options(given, expected):
    repeated = options.repeat_list_options(given.split(), {"--corpus"})

    assert repeated == expected.split()


def test_command_takes_several_values_after_one_option():
    app = typer.Typer()

    @app.command(cls=options.ValuesCommand)
    def read(corpus: options.CorpusOption, seed: options.SeedOption = 0):
        print(corpus, seed)

    result = CliRunner().invoke(app, ["--corpus", "a", "b", "c", "--seed", "4"])

    assert result.output == "['a', 'b', 'c'] 4\n"


@pytest.fixture
def backend_app(monkeypatch):
    """A command that shows KERAS_BACKEND, as if Keras were not imported."""
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    app = typer.Typer()

    @app.command()
    def show(backend: options.BackendOption = None):
        print(os.environ["KERAS_BACKEND"])

    return app


@pytest.mark.parametrize(
    "arguments, expected",
    [([], "tensorflow"), (["--backend", "jax"], "jax")],
)
def test_backend_option_sets_the_variable(backend_app, arguments, expected):
    result = CliRunner().invoke(backend_app, arguments)

    assert result.output == f"{expected}\n"


def test_backend_that_is_not_installed(backend_app, monkeypatch):
    monkeypatch.setattr(options.importlib.util, "find_spec", lambda name: None)

    result = CliRunner().invoke(backend_app, ["--backend", "torch"])

    assert result.exit_code == 2
    assert "keras-albert[torch]" in result.output


def test_backend_too_late_is_an_error(backend_app, monkeypatch):
    class Keras:
        class backend:  # noqa: N801
            @staticmethod
            def backend():
                return "torch"

    monkeypatch.setitem(sys.modules, "keras", Keras)

    result = CliRunner().invoke(backend_app, ["--backend", "jax"])

    assert result.exit_code == 2
    assert "already runs on torch" in result.output
