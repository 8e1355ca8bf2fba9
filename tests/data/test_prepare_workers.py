import os
import signal
import subprocess
import sys
import time

import pytest

from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.preparation_folder import PreparationFolder
from keras_albert.data.prepare_workers import Job
from keras_albert.data.prepare_workers import WorkerPool
from keras_albert.data.prepare_workers import counts_path
from keras_albert.data.prepare_workers import read_counts
from keras_albert.data.prepare_workers import unit_path
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shards import file_sha256
from keras_albert.data.shards import shard_name
from keras_albert.tokenizers.encoders import load_encoder
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_vocabulary

NUM_SHARDS = 3


@pytest.fixture
def job(tmp_path):
    encoder = load_encoder(write_vocabulary(tmp_path / "vocab.txt"))
    folder = PreparationFolder(tmp_path / "out")
    folder.units.mkdir(parents=True)
    folder.shard_counts.mkdir()
    return Job(
        folder=folder.path,
        encoder_config=encoder.config(),
        vocabulary_size=encoder.vocabulary_size(),
        word_segmenter=None,
        num_shards=NUM_SHARDS,
        chunks=ChunkSettings(64, 0.1, 0),
    )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_units_become_shards(job, num_workers):
    folder = PreparationFolder(job.folder)
    texts = documents(30)
    _, totals = DocumentTokenizer(
        load_encoder(job.folder.parent / "vocab.txt")
    ).tokenize(texts)

    with WorkerPool(job, num_workers) as pool:
        tasks = [(i, texts[10 * i : 10 * i + 10]) for i in range(3)]
        counted = dict(pool.run("tokenize_unit", tasks))
        shards = [(0, 2, 3), (2, 3, 3)]
        written = dict(pool.run("write_shards", shards))

    assert counted[0] + counted[1] + counted[2] == totals
    assert written == {0: 2, 2: 1}
    contents = [read_counts(folder, index) for index in range(NUM_SHARDS)]
    assert sum(content.num_tokens for content in contents) == totals.tokens
    for index, content in enumerate(contents):
        path = folder.path / shard_name(index, NUM_SHARDS)
        assert file_sha256(path) == content.sha256
        assert content.token_counts.sum() == content.num_tokens


def test_errors_of_workers_reach_the_caller(job):
    with (
        WorkerPool(job, 1) as pool,
        pytest.raises(FileNotFoundError, match="unit-000000.bin"),
    ):
        list(pool.run("write_shards", [(0, 1, 1)]))


def test_a_killed_worker_is_one_clear_error(job):
    with WorkerPool(job, 1) as pool:
        running = pool.run("tokenize_unit", [(0, documents(5))] * 3)
        next(running)
        (process,) = children()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="A worker process was"):
            list(running)
    folder = PreparationFolder(job.folder)
    assert not list(folder.path.glob("shard-*"))
    assert not counts_path(folder, 0).exists()
    assert unit_path(folder, 0).is_file()


def children():
    """Worker processes of this one: the tracker of resources is none."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = file.read().rpartition(")")[2].split()[1]
            with open(f"/proc/{name}/cmdline") as file:
                command = file.read()
        except OSError:
            continue
        if int(parent) == os.getpid() and "spawn_main" in command:
            found.append(int(name))
    return found


ORPHANING = """
import os, time, types
from keras_albert.data import prepare_workers

def main():
    job = types.SimpleNamespace(folder="out")
    pool = prepare_workers.WorkerPool(job, 1)
    future = pool._executor.submit(os.getpid)
    print(future.result(), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    main()
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "orphaning.py"
    script.write_text(ORPHANING)
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True
    ) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 20
    while is_running(worker):
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.05)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
