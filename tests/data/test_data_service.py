import contextlib
import itertools
import signal
import socket
import subprocess
import sys
import time

import pytest

from keras_albert.data import data_service
from keras_albert.data.pretraining import pretraining_dataset
from tests.data.conftest import digest
from tests.data.conftest import take

START_SECONDS = 120


def free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


def start(*arguments):
    """Runs `keras-albert data-service …`."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "keras_albert.cli.main", "data-service"),
            *map(str, arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.fixture(scope="module")
def service():
    """A dispatcher and two workers, started through the command line."""
    port, *workers = free_ports(3)
    addresses = ",".join(f"localhost:{worker}" for worker in workers)
    processes = [start("dispatcher", "--port", port, "--workers", addresses)]
    try:
        said = [processes[0].stdout.readline()]
        for worker in reversed(workers):
            processes.append(
                start(
                    *("worker", "--dispatcher", f"localhost:{port}"),
                    *("--port", worker),
                )
            )
        said += [process.stdout.readline() for process in processes[1:]]
        yield f"grpc://localhost:{port}", processes, said
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_the_batches_are_those_of_one_process(service, prepared, toy_tokenizer):
    address, _, _ = service

    def make(**arguments):
        return pretraining_dataset(
            prepared,
            toy_tokenizer,
            batch_size=12,
            seed=2,
            start_step=3,
            **arguments,
        )

    local, served = make(), make(data_service=address)

    assert served.element_spec == local.element_spec
    expected = digest(take(local, 150))
    assert digest(take(served, 150)) == expected
    assert digest(take(served, 150)) == expected  # and once more
    part = make(num_workers=3, worker_index=1)
    served = make(num_workers=3, worker_index=1, data_service=address)
    assert digest(take(served, 150)) == digest(take(part, 150))


def test_all_workers_are_counted(service):
    address, _, _ = service

    assert data_service.count_workers(address) == 2


def test_the_commands_say_what_runs_and_stop_when_asked(service):
    """The last test of the service, which it ends."""
    address, processes, said = service
    assert address in said[0]
    assert "for 2 workers" in said[0]
    assert all(line.startswith("Worker localhost:") for line in said[1:])

    for process, number in zip(
        reversed(processes),
        (signal.SIGINT, signal.SIGTERM, signal.SIGTERM),
        strict=True,
    ):
        process.send_signal(number)

    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert output.splitlines()[-1] == "Stopped."
        assert process.returncode == 0


def test_a_dispatcher_that_is_not_there_is_named_at_once(
    prepared, toy_tokenizer
):
    (port,) = free_ports(1)
    began = time.monotonic()

    with pytest.raises(ConnectionError, match=f"answers at localhost:{port}"):
        pretraining_dataset(
            prepared,
            toy_tokenizer,
            batch_size=4,
            seed=1,
            data_service=f"grpc://localhost:{port}",
        )

    assert time.monotonic() - began < 20


def test_workers_that_do_not_start_are_an_error():
    server = data_service.dispatcher_server(0, ["localhost:1", "localhost:2"])

    with pytest.raises(ConnectionError, match="Not all workers"):
        data_service.count_workers(server.target, seconds=2)


@pytest.mark.parametrize(
    "address", ["localhost", "host:port", ":50", "http://a:1/b", "a:70000"]
)
def test_an_address_that_cannot_be_read_is_an_error(address):
    with pytest.raises(ValueError, match="HOST:PORT"):
        data_service.check_reachable(address)


@pytest.mark.parametrize(
    "workers", [[], ["a:1", "a:1"], ["a"], ["a:1", "b:2", "b:x"]]
)
def test_a_dispatcher_needs_each_worker_once(workers):
    with pytest.raises(ValueError, match="HOST:PORT|each worker once"):
        data_service.dispatcher_server(0, workers)


def test_a_port_in_use_is_an_error():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(OSError, match=f"Port {port} cannot be used"):
            data_service.dispatcher_server(port, ["localhost:1"])


def test_blocks_are_put_in_order():
    numbers = [2, 0, 1, 5, 3, 4, 6]

    ordered = data_service.in_order(
        ((number, f"block {number}") for number in numbers), num_workers=3
    )

    assert list(ordered) == [f"block {number}" for number in range(7)]


def test_a_worker_started_anew_catches_up():
    numbers = [0, 1, 2, 3, 5, 0, 7, 2, 4, 6]

    ordered = data_service.in_order(
        ((number, number) for number in numbers), num_workers=2
    )

    assert list(ordered) == list(range(8))


def test_silence_is_an_error():
    def blocks():
        yield 0, "first"
        time.sleep(60)

    ordered = data_service.in_order(blocks(), num_workers=2, patience=0.2)

    assert next(ordered) == "first"
    with pytest.raises(ConnectionError, match="Worker 1 .* whether"):
        next(ordered)


def test_what_goes_wrong_while_reading_is_raised():
    def blocks():
        yield 0, "first"
        raise OSError("the line is cut")

    with pytest.raises(OSError, match="the line is cut"):
        list(data_service.in_order(blocks(), num_workers=2))


def test_a_worker_that_gives_nothing_is_named():
    # Worker 1 of 3 is silent.
    blocks = ((3 * i + w, None) for i in itertools.count() for w in (0, 2))

    with pytest.raises(ConnectionError, match="Worker 1 "):
        list(data_service.in_order(blocks, num_workers=3, patience=0.1))
