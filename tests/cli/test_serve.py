"""The served answers are in `tests/serving`; here is the command itself."""

from types import SimpleNamespace

import pytest
import typer

from keras_albert.cli.main import app
from keras_albert.cli.serve import greeting
from keras_albert.serving.server.server import ServerOptions


def test_every_option_is_explained():
    command = typer.main.get_command(app).commands["serve"]
    missing = [
        parameter.name for parameter in command.params if not parameter.help
    ]

    assert not missing


@pytest.mark.parametrize(
    "arguments, exit_code, text",
    [
        ((), 2, "DIR or --model-config-file"),
        (("a", "--model-config-file", "b"), 2, "DIR or --model-config-file"),
        (("a", "--models-folder", "b"), 2, "goes with --model-config-file"),
        (("no-such-folder",), 1, "There is no folder no-such-folder"),
        (("a", "--port", "99999"), 2, "65535"),
        (("--model-config-file", "none"), 1, "none"),
    ],
)
def test_wrong_usage_is_said_at_once(run_command, arguments, exit_code, text):
    result = run_command("serve", *arguments)

    assert result.exit_code == exit_code
    assert text in " ".join(result.output.replace("│", " ").split())


def test_files_are_checked_before_anything_is_loaded(run_command, tmp_path):
    (tmp_path / "m" / "1").mkdir(parents=True)
    batching = tmp_path / "batching.config"
    batching.write_text("max_batch_size { value: 0 }")

    result = run_command(
        *("serve", tmp_path / "m", "--batching-parameters-file", batching)
    )

    assert result.exit_code == 1
    assert "max_batch_size must be at least 1" in result.stderr
    assert "Loading" not in result.output


def test_a_model_that_does_not_load_is_one_line(run_command, tmp_path):
    (tmp_path / "m" / "1").mkdir(parents=True)

    result = run_command(*("serve", tmp_path / "m", "--port", 0, "--no-grpc"))

    assert result.exit_code == 1
    assert "Version 1 of the model m" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "host, url", [("127.0.0.1", "127.0.0.1:8"), ("::1", "[::1]:8")]
)
def test_the_greeting_says_where_and_what_for(host, url):
    server = SimpleNamespace(port=8, grpc_port=9)

    lines = greeting(server, ServerOptions(host=host), ["a", "b"])

    assert f"REST  http://{url}/v1/models/b" in lines
    assert lines[2].endswith(":9")
    assert any("In production use TensorFlow Serving" in li for li in lines)
    server.grpc_port = None
    assert not any("gRPC" in li for li in greeting(server, ServerOptions(), []))
