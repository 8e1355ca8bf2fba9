"""Batches made by other processes or machines, through the tf.data service.

    dispatcher   knows the workers by their addresses
    worker i     makes the blocks i, i + N, i + 2 N, … of N workers
    client       takes one block of each in turn, and puts them in order

Which worker makes which block is fixed (static sharding), so that the result
is the stream that one process would make, to the byte. Reading in rounds keeps
the workers together: none runs ahead by more than a few blocks.
"""

import contextlib
import queue
import signal
import socket
import threading
import time
import uuid

import tensorflow as tf
from tensorflow.data.experimental import service

from keras_albert.data.example_batches import map_in_order

PROTOCOL = "grpc"
CONNECT_SECONDS = 10
WORKER_SECONDS = 60
PATIENCE_SECONDS = 120
STOP_SECONDS = 5
_SHARD_HINT = tf.data.experimental.SHARD_HINT


def through_service(rows, function, address: str) -> tf.data.Dataset:
    """Maps blocks in the workers of a service, and keeps the order.

    Args:
        rows: `tf.data.Dataset`, endless. Each worker goes through all of it
            and maps its own part.
        function: TensorFlow function of an element, to arrays of which the
            first axis has one length.
        address: string. The dispatcher, such as `"grpc://host:5000"`.

    Returns:
        A `tf.data.Dataset` of what `function` returns.

    Raises:
        ValueError: if the address cannot be read.
        ConnectionError: if the dispatcher cannot be reached, or not all of
            its workers run.
    """
    address = check_reachable(address)
    num_workers = count_workers(address)
    blocks = rows.enumerate().shard(_SHARD_HINT, _SHARD_HINT)
    blocks = map_in_order(
        blocks, lambda number, row: (number, function(row))
    ).prefetch(tf.data.AUTOTUNE)
    blocks = _in_rounds(blocks, address)
    return tf.data.Dataset.from_generator(
        lambda: in_order(blocks.as_numpy_iterator(), num_workers),
        output_signature=blocks.element_spec[1],
    )


def _in_rounds(dataset, address):
    """One element of each worker, then the next of each, and so on.

    A worker that needs more than a tenth of a second is left out of a round.
    """
    # Reading in rounds is for datasets that are endless, and say so.
    endless = tf.data.experimental.assert_cardinality(
        tf.data.INFINITE_CARDINALITY
    )
    return dataset.apply(endless).apply(
        service.distribute(
            service.ShardingPolicy.HINT,
            address,
            # A job of this name serves one client; another run is another job.
            job_name=f"keras-albert-{uuid.uuid4()}",
            consumer_index=0,
            num_consumers=1,
        )
    )


def in_order(blocks, num_workers: int, patience: float = PATIENCE_SECONDS):
    """Yields numbered blocks by their number.

    While the next one is missing, the others that come are kept, and are
    asked for less and less often. A worker that was started anew begins with
    its first block; what came before is dropped.

    Args:
        blocks: iterable of `(number, content)`.
        num_workers: int. So many blocks come in any order as a matter of
            course.
        patience: float. Seconds to wait for the next block.

    Raises:
        ConnectionError: if the next block does not come.
    """
    kept = {}
    expected = 0
    since = time.monotonic()
    for item in _with_patience(blocks, patience):
        if item is not None:
            number, content = item
            if number >= expected:
                kept[int(number)] = content
        while expected in kept:
            yield kept.pop(expected)
            expected += 1
            since = time.monotonic()
        if item is None or time.monotonic() - since > patience:
            raise ConnectionError(
                f"Worker {expected % num_workers} (counted from 0) of the "
                f"data service has given nothing for {patience:g} seconds. See "
                "whether the dispatcher and all workers run, and start the "
                "training again: it goes on from its last checkpoint."
            )
        ahead = len(kept) - num_workers
        if ahead >= 0:
            time.sleep(min(0.01 * 2 ** min(ahead, 9), 5))


def _with_patience(items, patience):
    """Yields what comes; `None` when nothing has come for too long.

    TensorFlow itself would wait for a lost server without end.
    """
    results = queue.Queue(maxsize=1)
    stopped = threading.Event()

    def put(result):
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                return results.put(result, timeout=0.5)
        return None

    def read():
        try:
            for item in items:
                put((item, None))
                if stopped.is_set():
                    return
            put((None, StopIteration()))
        except Exception as error:  # handed on to the reader
            put((None, error))

    threading.Thread(target=read, daemon=True).start()
    try:
        while True:
            try:
                item, error = results.get(timeout=patience)
            except queue.Empty:
                yield None
                return
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        stopped.set()


def check_reachable(address: str, seconds: float = CONNECT_SECONDS) -> str:
    """Connects to a dispatcher, because TensorFlow would wait for ever.

    Args:
        address: string, with or without `"grpc://"`.
        seconds: float. How long to try.

    Returns:
        The address with its protocol.

    Raises:
        ValueError: if it is no address.
        ConnectionError: if nothing answers.
    """
    host, port = split_address(address.removeprefix(f"{PROTOCOL}://"))
    try:
        with socket.create_connection((host, port), timeout=seconds):
            return f"{PROTOCOL}://{host}:{port}"
    except OSError as error:
        raise ConnectionError(
            f"No data service answers at {host}:{port} ({error}). Start it "
            f"with `keras-albert data-service dispatcher --port {port} "
            "--workers HOST:PORT,…`, or correct the address."
        ) from error


def split_address(address: str) -> tuple[str, int]:
    """Splits `host:port`.

    >>> split_address("localhost:5000")
    ('localhost', 5000)
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit() or int(port) > 65535:
        raise ValueError(
            "An address is written as HOST:PORT, such as localhost:5000. "
            f"Received: {address!r}."
        )
    return host, int(port)


def count_workers(address: str, seconds: float = WORKER_SECONDS) -> int:
    """Waits until all workers that the dispatcher knows of have started.

    Args:
        address: string, with its protocol.
        seconds: float. How long to wait.

    Returns:
        The number of workers.

    Raises:
        ConnectionError: if they do not start in time.
    """
    numbers = tf.data.Dataset.range(tf.int64.max)
    # Two numbers of one worker differ by how many there are.
    numbers = numbers.shard(_SHARD_HINT, _SHARD_HINT).batch(2)
    numbers = _in_rounds(numbers, address)
    complete = []
    failed = []

    def read():
        seen = set()
        try:
            for first, second in numbers.as_numpy_iterator():
                num_workers = int(second - first)
                seen.add(int(first) % num_workers)
                if len(seen) == num_workers:
                    complete.append(num_workers)
                    return
                if time.monotonic() > until:
                    return
        except tf.errors.OpError as error:
            failed.append(error)

    until = time.monotonic() + seconds
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(seconds)
    if complete:
        return complete[0]
    reason = f": {failed[0].message}" if failed else ""
    raise ConnectionError(
        f"Not all workers of the data service at {address} run{reason}. Start "
        "each address that the dispatcher was given as --workers with "
        "`keras-albert data-service worker`."
    )


def dispatcher_server(port: int, workers: list[str]):
    """Starts a dispatcher in this process.

    Args:
        port: int. 0 for any that is free.
        workers: list of `"host:port"`, the workers that will run.

    Returns:
        A `tf.data.experimental.service.DispatchServer`.

    Raises:
        ValueError: if an address cannot be read or occurs twice, or if there
            is none.
        OSError: if the port is in use.
    """
    for worker in workers:
        split_address(worker)
    if not workers or len(set(workers)) < len(workers):
        raise ValueError(
            "The dispatcher needs the address of each worker once, because "
            "which worker makes which batch depends on it. "
            f"Received: {workers}."
        )
    _check_free(port)
    return service.DispatchServer(
        service.DispatcherConfig(
            port=port, protocol=PROTOCOL, worker_addresses=list(workers)
        )
    )


def worker_server(dispatcher: str, port: int, host: str = "localhost"):
    """Starts a worker in this process.

    Args:
        dispatcher: string. The dispatcher's address.
        port: int.
        host: string. The name of this machine in the dispatcher's list of
            workers. Defaults to `"localhost"`.

    Returns:
        A `tf.data.experimental.service.WorkerServer`.

    Raises:
        ValueError: if the address cannot be read.
        ConnectionError: if the dispatcher cannot be reached.
        OSError: if the port is in use.
    """
    address = check_reachable(dispatcher).removeprefix(f"{PROTOCOL}://")
    _check_free(port)
    return service.WorkerServer(
        service.WorkerConfig(
            dispatcher_address=address,
            worker_address=f"{host}:{port}",
            port=port,
            protocol=PROTOCOL,
        )
    )


def _check_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise OSError(
                f"Port {port} cannot be used: {error.strerror}. Choose "
                "another one."
            ) from error


def run_until_signal(server) -> None:
    """Waits until Ctrl-C or SIGTERM, then stops a server.

    Args:
        server: as from `dispatcher_server` or `worker_server`.
    """
    stopping = threading.Event()
    with contextlib.ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.signal(number, lambda *_: stopping.set())
            stack.callback(signal.signal, number, before)
        # Python runs a handler only between two waits.
        while not stopping.wait(timeout=0.5):
            pass
        # TensorFlow waits for those that are still connected.
        stop = threading.Thread(target=server._stop, daemon=True)
        stop.start()
        stop.join(STOP_SECONDS)
