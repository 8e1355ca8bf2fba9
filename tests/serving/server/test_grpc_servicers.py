"""The contract is in `contract/`; here is what only this server does."""

import threading

import grpc
import numpy as np
import pytest

from keras_albert.serving.server import grpc_servicers
from keras_albert.serving.server import message_requests
from keras_albert.serving.server.runner import LONG_REPLY_ELEMENTS
from tests.serving.server.test_grpc_service import predict


def test_long_errors_are_cut(server):
    with pytest.raises(grpc.RpcError) as caught:
        predict(server.grpc, ["x" * 5000], "fails")

    assert caught.value.details().endswith("...TRUNCATED")
    assert len(caught.value.details()) == 1024 + len("...TRUNCATED")


@pytest.fixture
def threads(monkeypatch):
    """Names of the threads that read and write tensors, in order."""
    names = []

    def note(module, name):
        function = getattr(module, name)

        def noted(*arguments):
            names.append(threading.current_thread().name.split("_")[0])
            return function(*arguments)

        monkeypatch.setattr(module, name, noted)

    note(message_requests, "read_tensor")
    note(grpc_servicers, "fill_tensor")
    return names


def test_long_messages_hold_nobody_up(server, threads):
    """What is long is read and written beside the event loop."""
    long = np.arange(LONG_REPLY_ELEMENTS + 1, dtype="float32")[None]

    answer = predict(server.grpc, long, "floats")
    predict(server.grpc, [1.0])

    assert len(answer.outputs["same"].float_val) == long.size
    assert threads[:2] == ["run", "run"]
    assert "run" not in threads[2:]


def test_what_nobody_foresaw_is_an_internal_error(server, monkeypatch):
    def broken(message):
        raise ZeroDivisionError

    monkeypatch.setattr(message_requests, "read_tensor", broken)
    with pytest.raises(grpc.RpcError) as caught:
        predict(server.grpc, [1.0])

    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert caught.value.details() == "Internal error"
    page = server.server._http._metrics.page()
    assert 'model_name="half",status="INTERNAL"} 1' in page
