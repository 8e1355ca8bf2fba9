"""Load for a server in a process of its own: who asks, and who watches.

`test_load.py` sends a few hundred requests, `tests/benchmarks/serving_load.py`
ten thousand.
"""

import dataclasses
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np

ENGLISH = (
    *("the", "film", "was", "good", "or", "bad", "very", "dull", "fine"),
    *("great", "sad", "indeed", "number", "and", "of", "to", "in", "that"),
    *("with", "people", "music", "story", "end", "first", "last", "never"),
)
CHINESE = "这部电影很好看非常无聊故事音乐结局人物第一次再也不推荐大家去"
READY_SECONDS = 120


def mixed_texts(number, seed, longest=400):
    """Texts of 1 to `longest` words, English and Chinese in turn."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(number):
        words = int(rng.integers(1, longest + 1))
        if i % 2:
            texts.append("".join(rng.choice(list(CHINESE), words)) + "。")
        else:
            texts.append(" ".join(rng.choice(ENGLISH, words)))
    return texts


class ServerProcess:
    """`keras-albert serve` in a process of its own."""

    def __init__(self, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "keras_albert.cli.main", "serve"),
                *map(str, arguments),
                *("--port", "0", "--grpc-port", "0"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        )
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        assert self.ready.wait(READY_SECONDS), self.output()
        assert self.process.poll() is None, self.output()
        rest = re.search(r"REST +http://127.0.0.1:(\d+)", self.output())
        self.port = int(rest[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.grpc = re.search(r"gRPC +(\S+)", self.output())[1]

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if "Stop with Ctrl-C" in line:
                self.ready.set()
        self.ready.set()

    def output(self):
        return "".join(self.lines)

    def memory(self):
        """Bytes in memory."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=60):
        code = self.process.wait(seconds)
        self.reader.join(10)
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclasses.dataclass
class Asked:
    """A request and what became of it."""

    index: int
    sent: float = 0.0
    done: float = 0.0
    status: int | None = None
    reply: dict | None = None
    error: Exception | None = None


class Asking:
    """Asks for one text a request, on a connection that is kept open."""

    def __init__(self, port, path):
        self._path = path
        self._port = port
        self._connection = None

    def __call__(self, index, text):
        asked = Asked(index)
        body = json.dumps({"instances": [text]}).encode()
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(
                    "127.0.0.1", self._port, timeout=60
                )
            self._connection.request("POST", self._path, body)
            asked.sent = time.monotonic()
            response = self._connection.getresponse()
            asked.status = response.status
            asked.reply = json.loads(response.read())
            if response.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            asked.error = error
            self.close()
        asked.done = time.monotonic()
        return asked

    def close(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def ask_all(port, path, texts, number, threads=16, during=None, rest=0.0):
    """Sends requests from several threads.

    Args:
        number: int. How many in all; the texts are taken in turn.
        during: function called with the number of answers so far, in this
            thread, until all have come. Returning True ends the load early.
        rest: float. Seconds that each thread waits after an answer.

    Returns:
        List of `Asked`.
    """
    results = []
    numbers = iter(range(number))
    lock = threading.Lock()
    ended = threading.Event()

    def work():
        ask = Asking(port, path)
        while not ended.is_set():
            with lock:
                i = next(numbers, None)
            if i is None:
                break
            index = i % len(texts)
            asked = ask(index, texts[index])
            with lock:
                results.append(asked)
            time.sleep(rest if asked.error is None else 0.02)
        ask.close()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        if during is not None and during(len(results)):
            ended.set()
        time.sleep(0.01)
    return results


def single_answers(port, path, texts):
    """The probabilities of each text, asked alone."""
    ask = Asking(port, path)
    rows = []
    for index, text in enumerate(texts):
        asked = ask(index, text)
        assert asked.status == 200, asked
        rows.append(asked.reply["predictions"][0]["probabilities"])
    ask.close()
    return np.array(rows)


def failures(results):
    """The requests that were not answered with 200."""
    return [asked for asked in results if asked.status != 200]


def largest_difference(results, singles):
    """Between answers under load and those to single requests."""
    found = np.array(
        [asked.reply["predictions"][0]["probabilities"] for asked in results]
    )
    wanted = singles[[asked.index for asked in results]]
    return float(np.abs(found - wanted).max())
