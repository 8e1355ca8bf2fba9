import asyncio
import json
import socket
import threading
import time

import pytest

from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.server import ServerOptions
from tests.serving.running_server import RunningServer
from tests.serving.running_server import ask
from tests.serving.running_server import running_server


@pytest.fixture
def half(models_config):
    return ModelConfig("half", models_config.parent / "half")


def test_a_port_in_use_is_said_and_leaves_nothing(half):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for options in ({"port": port}, {"grpc_port": port}):
            with (
                pytest.raises(OSError, match=f"{port}"),
                running_server([half], **options),
            ):
                pass


def test_without_grpc(half):
    with running_server([half], grpc_port=None) as server:
        assert server.server.grpc_port is None
        status, _, _ = ask(f"{server.url}/v1/models/half")
        assert status == 200
    with pytest.raises(OSError):
        ask(f"{server.url}/v1/models/half")


def test_the_end_is_told_before_it_comes(half):
    server = RunningServer([half], drain_seconds=1.5, grpc_port=None)
    url = f"{server.url}/v1/models/half"
    assert ask(f"{url}/metadata")[0] == 200
    stopping = asyncio.run_coroutine_threadsafe(
        server.server.stop(), server.loop
    )
    time.sleep(0.1)

    assert ask(f"{url}/metadata")[0] == 503
    assert ask(f"{url}:predict", {"instances": [1.0]})[0] == 200
    stopping.result(30)
    server.end_loop()
    with pytest.raises(OSError):
        ask(url)


def test_the_end_waits_for_what_is_computed(half):
    answers = []

    def ask_slowly(url):
        body = {"signature_name": "slow", "inputs": [60_000]}
        answers.append(ask(f"{url}/v1/models/half:predict", body))

    with running_server([half], grpc_port=None) as server:
        thread = threading.Thread(target=ask_slowly, args=(server.url,))
        thread.start()
        model = server.server._models.versions("half")[0].model
        while not model._running:
            time.sleep(0.001)
    thread.join()

    (answer,) = answers
    assert (answer[0], json.loads(answer[2])) == (200, {"outputs": [60_000]})
    assert model._closed


def test_ports_are_looked_at_before_models_are_loaded(tmp_path):
    nowhere = ModelConfig("none", tmp_path / "none")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(OSError, match=f"The port {port} .* is in use"),
            running_server([nowhere], grpc_port=port),
        ):
            pass


@pytest.mark.parametrize(
    "options, text",
    [
        ({"max_body_bytes": 0}, "`max_body_bytes` must be greater than 0"),
        ({"timeout_seconds": 0}, "`timeout_seconds` must be greater than 0"),
        ({"body_seconds": 0}, "`body_seconds` must be greater than 0"),
        ({"poll_seconds": 0}, "`poll_seconds` must be greater than 0"),
        ({"load_retries": -1}, "`load_retries` must not be negative"),
        ({"shutdown_seconds": -1}, "`shutdown_seconds` must not be negative"),
        ({"port": 8, "grpc_port": 8}, "a port each. Received: 8"),
    ],
)
def test_options_that_cannot_be_used(options, text):
    with pytest.raises(ValueError, match=text):
        ServerOptions(**options)


def test_only_this_machine_by_default():
    assert ServerOptions().host == "127.0.0.1"
