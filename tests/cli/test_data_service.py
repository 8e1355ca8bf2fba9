"""The servers themselves are started in `tests/data/test_data_service.py`."""

import pytest
import typer

from keras_albert.cli.data_service import data_service
from keras_albert.cli.main import app


def test_the_commands_are_these():
    group = typer.main.get_command(app).commands["data-service"]

    assert sorted(group.commands) == ["dispatcher", "worker"]
    assert typer.main.get_command(data_service).name == "data-service"


@pytest.mark.parametrize("command", ["dispatcher", "worker"])
def test_every_option_is_explained(command):
    group = typer.main.get_command(data_service)
    missing = [
        parameter.name
        for parameter in group.commands[command].params
        if not parameter.help and parameter.name != "help"
    ]

    assert not missing


def test_an_address_that_cannot_be_read_is_one_line(run_command):
    result = run_command(
        *("data-service", "dispatcher", "--workers", "here", "--port", 0)
    )

    assert result.exit_code == 1
    assert "HOST:PORT" in result.stderr
    assert "'here'" in result.stderr


def test_a_dispatcher_that_does_not_answer_is_one_line(run_command):
    result = run_command(
        *("data-service", "worker", "--dispatcher", "localhost:1"),
        *("--port", 2),
    )

    assert result.exit_code == 1
    assert "No data service answers at localhost:1" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("dispatcher",), ("worker", "--port", "1")]
)
def test_wrong_usage_is_code_2(run_command, arguments):
    assert run_command("data-service", *arguments).exit_code == 2
