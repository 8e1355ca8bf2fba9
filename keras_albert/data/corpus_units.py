"""Units of a corpus: whole documents, some megabytes of text together.

A unit is the smallest piece of work: it goes to one worker, which leaves one
file. Where units begin follows from the files and the unit's size alone, so
that an interrupted preparation finds the same units again.
"""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus import read_documents

# A longer document is cut into several, so that memory is bounded.
MAX_DOCUMENT_BYTES = 1 << 20
# Text is about three times its gzip file.
GZIP_RATIO = 3
_MIN_UNIT_BYTES, _UNIT_BYTES = 1 << 18, 1 << 20
_UNITS_OF_A_SMALL_CORPUS = 4
_SHARD_BYTES = 8 << 20
_MIN_SHARD_BYTES = 1 << 18
_PARALLEL_SHARDS = 16


@dataclasses.dataclass(frozen=True)
class Unit:
    """Consecutive documents.

    Args:
        index: int. 0 for the first unit of a corpus.
        texts: list of strings. The lines of each document, joined by
            newlines.
        stored_bytes: int. Bytes of the files, compressed perhaps, that were
            read for it.
    """

    index: int
    texts: list[str]
    stored_bytes: int


def read_units(
    paths: list[Path], text_field: str, unit_bytes: int, counts: ReadingCounts
) -> Iterator[Unit]:
    """Streams a corpus unit by unit.

    Args:
        paths: list of paths.
        text_field: string. Field of JSON lines.
        unit_bytes: int. A unit is full when its text has so many characters.
        counts: `ReadingCounts`, kept up to date.

    Yields:
        `Unit`s.
    """
    index = size = start = 0
    texts = []
    documents = read_documents(
        paths, text_field, max_bytes=MAX_DOCUMENT_BYTES, counts=counts
    )
    for lines in documents:
        text = "\n".join(lines)
        texts.append(text)
        size += len(text)
        if size >= unit_bytes:
            yield Unit(index, texts, counts.stored_bytes - start)
            index, size, start = index + 1, 0, counts.stored_bytes
            texts = []
    if texts:
        yield Unit(index, texts, counts.stored_bytes - start)


def guess_text_bytes(paths: list[Path]) -> int:
    """Guesses how much text files hold, by their sizes.

    Args:
        paths: list of paths.

    Returns:
        int.
    """
    return sum(
        path.stat().st_size * (GZIP_RATIO if path.suffix == ".gz" else 1)
        for path in paths
    )


def default_unit_bytes(text_bytes: int) -> int:
    """Chooses the size of units.

    Args:
        text_bytes: int. About how much text there is.

    Returns:
        int: 1 MiB, less where several workers could not share the text, and
        more from 8 GiB on, by its square root: every shard reads from every
        unit's file, so that the number of reads must not grow too fast.
    """
    size = text_bytes // _UNITS_OF_A_SMALL_CORPUS
    size = min(max(size, _MIN_UNIT_BYTES), _UNIT_BYTES)
    return max(size, math.isqrt(text_bytes * _UNIT_BYTES // 8192))


def default_num_shards(text_bytes: int) -> int:
    """Chooses how many shards a corpus becomes.

    Args:
        text_bytes: int. About how much text there is.

    Returns:
        int: one per 8 MiB, so that a shard is sorted in little memory, but
        up to 16 for a smaller corpus, so that several can be read at once.
    """
    few = min(_PARALLEL_SHARDS, -(-text_bytes // _MIN_SHARD_BYTES))
    return max(1, few, -(-text_bytes // _SHARD_BYTES))


def describe_files(paths: list[Path]) -> list[dict]:
    """Lists path, size and time of change, by which a change is noticed.

    Args:
        paths: list of paths.

    Returns:
        A list of dicts.
    """
    described = []
    for path in paths:
        status = path.stat()
        described.append(
            {
                "path": str(path.absolute()),
                "bytes": status.st_size,
                "changed": status.st_mtime_ns,
            }
        )
    return described
