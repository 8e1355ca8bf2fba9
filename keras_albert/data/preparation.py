"""Prepares a corpus of any size for pretraining.

    files -> units of documents -> workers -> spill files, split by shard
    a shard's part of all spill files -> workers -> sorted, cut into chunks
    all shards finished -> manifest.json

No step holds the corpus in memory, and what a document becomes depends on its
text and the settings alone. So the bytes are the same whatever the number of
workers and the order of files, and finished pieces of work need not be
repeated after an interruption.
"""

import contextlib
import dataclasses
import errno
import os
import time
from pathlib import Path

import numpy as np

from keras_albert.data.corpus import Files
from keras_albert.data.corpus import resolve_files
from keras_albert.data.corpus_units import default_num_shards
from keras_albert.data.corpus_units import default_unit_bytes
from keras_albert.data.corpus_units import describe_files
from keras_albert.data.corpus_units import guess_text_bytes
from keras_albert.data.document_tokenizing import check_word_segmenter
from keras_albert.data.preparation_checks import PreparedCorpus
from keras_albert.data.preparation_checks import RefusedCorpusError
from keras_albert.data.preparation_checks import check_arguments
from keras_albert.data.preparation_checks import make_manifest
from keras_albert.data.preparation_folder import PreparationFolder
from keras_albert.data.preparation_steps import spill_units
from keras_albert.data.preparation_steps import write_missing_shards
from keras_albert.data.prepare_workers import Job
from keras_albert.data.prepare_workers import WorkerPool
from keras_albert.data.prepare_workers import read_counts
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shards import TOKEN_COUNTS_FILE
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import write_manifest
from keras_albert.data.stored_tokenizer import StoredTokenizer
from keras_albert.data.whole_files import writing_whole

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def prepare_corpus(
    corpus: Files,
    tokenizer,
    output: str | Path,
    *,
    sequence_length: int = 512,
    short_sequence_probability: float = 0.1,
    seed: int = 0,
    workers: int | None = None,
    num_shards: int | None = None,
    word_segmenter: str | None = None,
    text_field: str = "text",
    allow_single_sentences: bool = False,
    overwrite: bool = False,
    progress=None,
) -> PreparedCorpus:
    """Turns text files into shards of tokenized examples.

    An interrupted preparation goes on from where it was stopped when it is
    started again with the same arguments; the result is the same to the byte.
    So it is with any number of workers and any order of files.

    With `workers` above 0, a script must guard its own work by
    `if __name__ == "__main__":`, as for every process that Python starts.

    Args:
        corpus: paths and patterns, see `read_documents`. A document of more
            than 1 MiB is cut into several.
        tokenizer: path of a vocabulary or preset, or a tokenizer.
        output: string or path. The folder to write.
        sequence_length: int. Length of an example with its special tokens.
            Defaults to `512`.
        short_sequence_probability: float. Share of examples with a shorter
            target length. Defaults to `0.1`.
        seed: int. Same seed, same bytes. Defaults to `0`.
        workers: int. Worker processes; 0 does all work in this process.
            Defaults to the number of processors.
        num_shards: int. Defaults to one per 8 MB of text, and a few for
            parallel reading where there is less.
        word_segmenter: string. `"jieba"` for whole Chinese words. Defaults to
            `None`: the tokenizer's word starts.
        text_field: string. Field of JSON lines. Defaults to `"text"`.
        allow_single_sentences: bool. Whether to accept a corpus that holds
            no document of two sentences. Defaults to `False`.
        overwrite: bool. Whether to remove what was prepared in `output`
            before. Defaults to `False`.
        progress: `rich.progress.Progress` to which bars are added. Defaults
            to `None`.

    Returns:
        `PreparedCorpus`.

    Raises:
        ChildProcessError: if a worker process died.
        FileExistsError: if `output` holds something else, or data of other
            settings, or is being written by another process.
        FileNotFoundError: if a file is missing.
        OSError: if the disk is full.
        ValueError: if an argument is out of range, a file is damaged, or the
            corpus cannot teach what it is for.

    Example:

    ```python
    prepared = keras_albert.data.prepare_corpus(
        "corpus/*.txt.gz", "spiece.model", "prepared", sequence_length=128
    )
    print(prepared.manifest.totals)
    ```
    """
    started = time.monotonic()
    check_arguments(
        sequence_length, short_sequence_probability, workers, num_shards
    )
    check_word_segmenter(word_segmenter)
    paths = resolve_files(corpus)
    stored = StoredTokenizer(tokenizer)
    encoder = stored.encoder
    text_bytes = guess_text_bytes(paths)
    if num_shards is None:
        num_shards = default_num_shards(text_bytes)
    chunks = ChunkSettings(sequence_length, short_sequence_probability, seed)
    folder = PreparationFolder(Path(output).expanduser())
    job = Job(
        folder=folder.path,
        encoder_config=encoder.config(),
        vocabulary_size=encoder.vocabulary_size(),
        word_segmenter=word_segmenter,
        num_shards=num_shards,
        chunks=chunks,
    )
    settings = {
        **dataclasses.asdict(chunks),
        "num_shards": num_shards,
        "word_segmenter": word_segmenter,
        "tokenizer_fingerprint": encoder.fingerprint(),
        "text_field": text_field,
        "unit_bytes": default_unit_bytes(text_bytes),
        "corpus": describe_files(paths),
    }
    with folder.locked(), _disk_full_is_said(folder):
        folder.claim(settings, overwrite)
        was_complete = folder.is_complete
        if was_complete:
            manifest = read_manifest(folder.path)
        else:
            num_workers = _num_processors() if workers is None else workers
            with (
                _cleared_when_refused(folder),
                WorkerPool(job, num_workers) as pool,
            ):
                num_units, totals = spill_units(
                    folder,
                    pool,
                    paths,
                    settings,
                    allow_single_sentences,
                    progress,
                )
                write_missing_shards(
                    folder, pool, num_shards, num_units, progress
                )
            manifest = _finish(folder, job, stored, totals)
    seconds = time.monotonic() - started
    return PreparedCorpus(folder.path, manifest, seconds, was_complete)


def _finish(folder, job, tokenizer, totals):
    """Writes what belongs to all shards; the manifest is last."""
    contents = [read_counts(folder, i) for i in range(job.num_shards)]
    with writing_whole(folder.path / TOKEN_COUNTS_FILE) as file:
        np.save(file, sum(content.token_counts for content in contents))
    manifest = make_manifest(
        job.chunks,
        tokenizer.encoder,
        tokenizer.write(folder.path),
        job.word_segmenter,
        contents,
        totals,
    )
    write_manifest(folder.path, manifest)
    folder.remove_work()
    return manifest


@contextlib.contextmanager
def _cleared_when_refused(folder):
    """What was done for a corpus that must be changed is of no use."""
    try:
        yield
    except RefusedCorpusError:
        folder.clear()
        raise


@contextlib.contextmanager
def _disk_full_is_said(folder):
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(
            f"There is no room left for {folder.path} "
            f"({os.strerror(error.errno)}). Make room and give the same "
            "command again: it goes on from what is finished."
        ) from error


def _num_processors():
    return len(os.sched_getaffinity(0))
