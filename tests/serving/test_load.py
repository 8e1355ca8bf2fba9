"""Many clients at once, a roll-out and an end; scaled down.

The full size is `tests/benchmarks/serving_load.py`.
"""

import http.client
import json
import shutil
import time

import pytest

from tests.serving.load import ServerProcess
from tests.serving.load import ask_all
from tests.serving.load import failures
from tests.serving.load import largest_difference
from tests.serving.load import mixed_texts
from tests.serving.load import single_answers
from tests.serving.running_server import ask

PATH = "/v1/models/reviews:predict"
BATCHING = """
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
allowed_batch_sizes: 1 allowed_batch_sizes: 8 allowed_batch_sizes: 32
"""
NUM_REQUESTS = 400
# While a version loads, requests come all the time, but leave it the processor.
REST = 0.02


@pytest.fixture(scope="module")
def folder(models_config, tmp_path_factory):
    """A model's folder with version 1."""
    folder = tmp_path_factory.mktemp("load") / "reviews"
    shutil.copytree(models_config.parent / "albert" / "1", folder / "1")
    return folder


@pytest.fixture(scope="module")
def process(folder):
    """A `ServerProcess` that merges requests and looks often."""
    batching = folder.parent / "batching.config"
    batching.write_text(BATCHING)
    server = ServerProcess(
        *(folder, "--batching-parameters-file", batching),
        *("--file-system-poll-wait-seconds", 0.1),
    )
    yield server
    server.kill()


@pytest.fixture(scope="module")
def texts():
    return mixed_texts(40, seed=0)


@pytest.fixture(scope="module")
def singles(process, texts):
    return single_answers(process.port, PATH, texts)


def state(process, version):
    _, _, body = ask(f"{process.url}/v1/models/reviews")
    found = json.loads(body)["model_version_status"]
    states = {v["version"]: v["state"] for v in found}
    return states.get(str(version))


def queued(process):
    _, _, body = ask(f"{process.url}/monitoring/prometheus/metrics")
    name = b":tensorflow:serving:runtime_latency_count"
    lines = [line for line in body.splitlines() if line.startswith(name)]
    return int(lines[0].split()[-1])


# The tests share a server, and the last one ends it.


def test_answers_under_load_are_those_to_single_requests(
    process, texts, singles
):
    results = ask_all(process.port, PATH, texts, NUM_REQUESTS)

    assert len(results) == NUM_REQUESTS
    assert not failures(results)
    assert largest_difference(results, singles) <= 1e-5
    assert singles.std(0).max() > 0.01  # texts that answer alike prove little
    assert queued(process) == NUM_REQUESTS + len(texts)


def test_a_roll_out_fails_no_request(process, folder, texts, singles):
    events = []

    def during(number):
        if number > 100 and not events:
            shutil.copytree(folder / "1", folder / "unfinished")
            (folder / "unfinished").rename(folder / "2")
            events.append("copied")
        if events and state(process, 1) == "END":
            events.append("ended")
        return len(events) > 20

    results = ask_all(
        process.port, PATH, texts, 10**5, during=during, rest=REST
    )

    assert state(process, 2) == "AVAILABLE"
    assert len(results) > 100
    assert not failures(results)
    assert largest_difference(results, singles) <= 1e-5


def test_the_end_answers_what_has_come(process, texts, singles):
    """What was sent before the signal is answered, and the process ends."""
    times = []

    def during(number):
        if number > 100 and not times:
            times.append(time.monotonic())
            process.terminate()
        return bool(times) and process.process.poll() is not None

    results = ask_all(process.port, PATH, texts, 10**5, during=during)
    code = process.wait()

    answered = [asked for asked in results if asked.status == 200]
    lost = [asked for asked in failures(results) if asked.sent < times[0]]
    # What comes later finds nobody; nothing else is an excuse.
    excuses = {type(a.error) for a in failures(results)}
    assert not [asked for asked in lost if asked.sent]
    assert excuses <= {
        ConnectionRefusedError,
        ConnectionResetError,
        BrokenPipeError,
        http.client.RemoteDisconnected,
    }
    assert any(a.sent < times[0] < a.done for a in answered)
    assert largest_difference(answered, singles) <= 1e-5
    assert code == 0
    assert "Stopped." in process.output()
    assert "Traceback" not in process.output()
    assert "In production use TensorFlow Serving" in process.output()
