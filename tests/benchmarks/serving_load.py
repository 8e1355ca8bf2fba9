"""Sends ten thousand requests to the local server, three times over.

    python tests/benchmarks/serving_load.py            # about 3 minutes
    python tests/benchmarks/serving_load.py --model served/reviews

Texts of 1 to 400 words, English and Chinese, from 16 threads, merged by the
server: first in peace, then while a second version is rolled out, then until
SIGTERM. Every answer is compared with the answer to the same text asked
alone. Without `--model`, a tiny classifier is exported.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from tests.serving.load import ServerProcess  # noqa: E402
from tests.serving.load import ask_all  # noqa: E402
from tests.serving.load import failures  # noqa: E402
from tests.serving.load import largest_difference  # noqa: E402
from tests.serving.load import mixed_texts  # noqa: E402
from tests.serving.load import single_answers  # noqa: E402

BATCHING = """
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
"""
TOLERANCE = 1e-5


def export_tiny(folder):
    from keras_albert.export.saved_model import export_saved_model
    from tests.export.tiny_classifiers import tiny_classifier

    model = tiny_classifier("sentence_piece", num_classes=3)
    export_saved_model(model, folder, version=1, verify=False)


def report(name, results, singles, memory, seconds):
    answered = [asked for asked in results if asked.status == 200]
    waits = sorted(asked.done - asked.sent for asked in answered)
    difference = largest_difference(answered, singles)
    lost = len(failures(results))
    print(
        f"{name:<10} {len(results):>6} requests  {lost:>3} failed  "
        f"largest difference {difference:.1e}  "
        f"{len(answered) / seconds:>6.0f}/s  "
        f"median {1e3 * waits[len(waits) // 2]:.1f} ms  "
        f"99 % {1e3 * waits[len(waits) * 99 // 100]:.1f} ms  "
        f"memory {memory / 2**20:.0f} MiB",
        flush=True,
    )
    return difference <= TOLERANCE, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="folder of an exported model")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--texts", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Path(folder, "model")
        if options.model:
            versions = sorted(Path(options.model).iterdir(), key=str)
            shutil.copytree(versions[-1], served / "1")
        else:
            export_tiny(served)
        batching = Path(folder, "batching.config")
        batching.write_text(BATCHING)
        server = ServerProcess(served, "--batching-parameters-file", batching)
        try:
            run(server, served, options)
        finally:
            server.kill()


def run(server, served, options):
    path = "/v1/models/model:predict"
    texts = mixed_texts(options.texts, seed=0)
    singles = single_answers(server.port, path, texts)
    ask_all(server.port, path, texts, options.requests // 10)  # warm
    ok = True

    memory = server.memory()
    started = time.monotonic()
    results = ask_all(server.port, path, texts, options.requests)
    seconds = time.monotonic() - started
    growth = server.memory() - memory
    right, lost = report("peace", results, singles, server.memory(), seconds)
    print(f"{'':<10} memory grew by {growth / 2**20:.1f} MiB")
    ok &= right and not lost and len(results) == options.requests

    def roll_out():
        time.sleep(1)
        shutil.copytree(served / "1", served / "unfinished")
        (served / "unfinished").rename(served / "2")

    rolling = threading.Thread(target=roll_out)
    rolling.start()
    started = time.monotonic()
    results = ask_all(server.port, path, texts, options.requests)
    seconds = time.monotonic() - started
    rolling.join()
    right, lost = report("roll-out", results, singles, server.memory(), seconds)
    ok &= right and not lost and "Unloaded model/1" in server.output()

    signalled = []

    def end(number):
        if number > options.requests // 10 and not signalled:
            memory.append(server.memory())
            signalled.append(time.monotonic())
            server.terminate()
        return bool(signalled) and server.process.poll() is not None

    memory = []
    started = time.monotonic()
    results = ask_all(server.port, path, texts, options.requests, during=end)
    seconds = time.monotonic() - started
    right, _ = report("SIGTERM", results, singles, memory[0], seconds)
    lost = [a for a in failures(results) if 0 < a.sent < signalled[0]]
    over = [a for a in results if a.status == 200 and a.done > signalled[0]]
    code = server.wait()
    print(
        f"{'':<10} {len(over)} answered after the signal, {len(lost)} lost "
        f"that were sent before; exit code {code}"
    )
    ok &= right and not lost and code == 0
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
