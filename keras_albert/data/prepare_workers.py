"""The work of a preparation, and the processes that do it.

    documents of a unit  -> tokenize_unit -> a spill file
    a shard's slice of all spill files -> write_shards -> a TFRecord file

Each piece of work ends with one file that appears when it is complete. A
worker imports neither Keras nor TensorFlow.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.preparation_folder import PreparationFolder
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import ShardContent
from keras_albert.data.shard_writing import write_shard
from keras_albert.data.shards import Totals
from keras_albert.data.shards import shard_name
from keras_albert.data.spill import read_spill
from keras_albert.data.spill import write_spill
from keras_albert.data.tokenized_documents import concatenate
from keras_albert.data.tokenized_documents import shards_of
from keras_albert.data.whole_files import writing_whole
from keras_albert.tokenizers.encoders import encoder_from_config


@dataclasses.dataclass(frozen=True)
class Job:
    """What every worker must know."""

    folder: Path
    encoder_config: dict
    vocabulary_size: int
    word_segmenter: str | None
    num_shards: int
    chunks: ChunkSettings


class Worker:
    """Does one piece of work after the other.

    Args:
        job: `Job`.
    """

    def __init__(self, job: Job):
        self._job = job
        self._folder = PreparationFolder(job.folder)
        self._tokenizer = None

    def tokenize_unit(self, index: int, texts: list[str]) -> Totals:
        """Tokenizes documents and spills them.

        Args:
            index: int. Which unit of the corpus.
            texts: list of strings, the documents.

        Returns:
            `Totals`.
        """
        if self._tokenizer is None:
            self._tokenizer = DocumentTokenizer(
                encoder_from_config(self._job.encoder_config),
                self._job.word_segmenter,
            )
        documents, totals = self._tokenizer.tokenize(texts)
        write_spill(
            unit_path(self._folder, index),
            documents,
            totals,
            self._job.num_shards,
        )
        return totals

    def write_shards(self, first: int, stop: int, num_units: int) -> int:
        """Writes consecutive shards, and what was counted in each.

        Args:
            first: int. The first shard.
            stop: int. The shard after the last.
            num_units: int. How many spill files there are.

        Returns:
            int. How many shards it wrote.
        """
        if stop - first == 1:
            # No name for the unsorted ones: they are freed at once.
            self._write_shard(
                first, self._read(first, stop, num_units).by_identity()
            )
            return 1
        documents = self._read(first, stop, num_units)
        shards = shards_of(documents.identities, self._job.num_shards)
        for index in range(first, stop):
            mine = np.flatnonzero(shards == index)
            self._write_shard(index, documents.take(mine).by_identity())
        return stop - first

    def _read(self, first, stop, num_units):
        return concatenate(
            [
                read_spill(unit_path(self._folder, unit), first, stop)
                for unit in range(num_units)
            ]
        )

    def _write_shard(self, index, documents):
        path = self._folder.path / shard_name(index, self._job.num_shards)
        with writing_whole(path) as file:
            content = write_shard(
                file, documents, self._job.chunks, self._job.vocabulary_size
            )
        with writing_whole(counts_path(self._folder, index)) as file:
            np.savez(file, **dataclasses.asdict(content))


def unit_path(folder: PreparationFolder, index: int) -> Path:
    """The spill file of a unit."""
    return folder.units / f"unit-{index:06d}.bin"


def counts_path(folder: PreparationFolder, index: int) -> Path:
    """The file whose presence says that a shard is finished."""
    return folder.shard_counts / f"shard-{index:05d}.npz"


def read_counts(folder: PreparationFolder, index: int) -> ShardContent:
    """Reads what was counted in a finished shard."""
    with np.load(counts_path(folder, index), allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    return ShardContent(
        **{n: v.item() if v.ndim == 0 else v for n, v in stored.items()}
    )


class WorkerPool:
    """Worker processes, started anew: nothing is inherited but the job.

    Args:
        job: `Job`.
        num_workers: int. With 0, the work is done in this process.
    """

    def __init__(self, job: Job, num_workers: int):
        self._num_workers = num_workers
        self._worker = Worker(job) if num_workers == 0 else None
        self._executor = None
        if num_workers:
            self._executor = ProcessPoolExecutor(
                num_workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start_worker,
                initargs=(job,),
            )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def run(self, method: str, tasks: Iterable[tuple]) -> Iterator[tuple]:
        """Runs a method of `Worker` for each task.

        Few tasks wait at a time, so that their arguments take little memory.

        Args:
            method: string. Name of the method.
            tasks: iterable of tuples of arguments.

        Yields:
            `(arguments, result)`, as they get ready. Of the arguments only
            the first is kept.

        Raises:
            ChildProcessError: if a worker process died.
        """
        if self._executor is None:
            for arguments in tasks:
                yield arguments[0], getattr(self._worker, method)(*arguments)
            return
        try:
            yield from self._run_in_processes(method, tasks)
        except BrokenProcessPool:
            raise ChildProcessError(
                "A worker process was killed. If memory ran out, use fewer "
                "--workers (workers=…). What is finished is kept: the same "
                "command goes on from there."
            ) from None

    def _run_in_processes(self, method, tasks):
        running = {}
        for arguments in tasks:
            if len(running) > self._num_workers:
                yield from _ready(running)
            with _interrupts_held():
                future = self._executor.submit(_work, method, arguments)
            running[future] = arguments[0]
        while running:
            yield from _ready(running)


@contextlib.contextmanager
def _interrupts_held():
    """Starts processes that Ctrl-C does not reach, from their first moment.

    A process inherits the signals that are held; one that comes meanwhile
    reaches this process afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ready(running):
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        yield running.pop(future), future.result()


# The worker of this process, if it is one.
_worker = None


def _start_worker(job):
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(job)


def _end_with_parent():
    """Ends this process when the parent is killed; it would wait forever."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _work(method, arguments):
    return getattr(_worker, method)(*arguments)
