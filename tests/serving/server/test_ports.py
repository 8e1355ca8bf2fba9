import socket

import pytest

from keras_albert.serving.server.ports import check_free


def test_ports_are_free_or_not():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.* is in use"):
            check_free("127.0.0.1", [0, port])
    check_free("127.0.0.1", [0, port])


def test_a_host_that_is_another_machine_or_none():
    with pytest.raises(OSError, match="'no such host' is no address"):
        check_free("no such host", [0])
    # Kept for documentation, so that no machine has it.
    with pytest.raises(OSError, match=r"port 0 of 192\.0\.2\.1 cannot be"):
        check_free("192.0.2.1", [0])
