import pytest
import typer
from typer.testing import CliRunner

from keras_albert.cli import errors


def run(body, **options):
    """Result of a command line whose one command is `body`."""
    app = typer.Typer(cls=errors.ErrorLineGroup)
    app.command("work")(body)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["work", *options.pop("arguments", [])])


@pytest.mark.parametrize("kind", errors.EXPLAINED)
def test_explained_errors_are_one_line_on_stderr(kind):
    def body():
        message = "`steps` must be\n positive. Received: [-1]."
        if issubclass(kind, UnicodeError):
            message = "x"
        raise kind(message)

    result = run(body)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    if not issubclass(kind, UnicodeError):
        assert "positive. Received: [-1]." in result.stderr


def test_bug_keeps_its_traceback():
    def body():
        raise ZeroDivisionError

    assert isinstance(run(body).exception, ZeroDivisionError)


def test_traceback_on_demand(monkeypatch):
    monkeypatch.setenv(errors.TRACEBACK, "1")

    def body():
        raise ValueError("wrong")

    assert isinstance(run(body).exception, ValueError)


def test_wrong_option_is_code_2():
    assert run(lambda: None, arguments=["--none"]).exit_code == 2


def test_interruption_says_what_remains():
    def body():
        with errors.interruption_keeps("run/ keeps the checkpoints."):
            raise KeyboardInterrupt

    result = run(body)

    assert result.exit_code == 130
    assert result.stderr == "Interrupted. run/ keeps the checkpoints.\n"


def test_interruption_without_a_word():
    def body():
        raise KeyboardInterrupt

    result = run(body)

    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


def test_error_without_text_names_its_kind():
    assert errors.error_line(ValueError()) == "ValueError"
