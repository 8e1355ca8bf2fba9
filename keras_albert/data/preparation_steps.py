"""The two halves of a preparation, each of many pieces of work.

What is there already is not done again, so that an interrupted preparation
goes on from its last finished piece.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus_units import describe_files
from keras_albert.data.corpus_units import read_units
from keras_albert.data.preparation_checks import RefusedCorpusError
from keras_albert.data.preparation_checks import check_totals
from keras_albert.data.preparation_folder import PreparationFolder
from keras_albert.data.prepare_workers import WorkerPool
from keras_albert.data.prepare_workers import counts_path
from keras_albert.data.prepare_workers import unit_path
from keras_albert.data.shards import Totals
from keras_albert.data.spill import read_spill_totals
from keras_albert.data.whole_files import writing_whole

_MANY_SHARDS = 64
# So many documents of one sentence each are no accident.
_TELLING_DOCUMENTS = 2000


def spill_units(
    folder: PreparationFolder,
    pool: WorkerPool,
    paths: list[Path],
    settings: dict,
    allow_single: bool,
    progress=None,
) -> tuple[int, Totals]:
    """The first half: tokenizes and spills all units not there yet.

    Args:
        folder: `PreparationFolder`.
        pool: `WorkerPool`.
        paths: list of paths, the corpus.
        settings: dict, what the folder was claimed for.
        allow_single: bool. Whether single sentences are enough.
        progress: `rich.progress.Progress`. Defaults to `None`.

    Returns:
        The number of units, and the `Totals` of the corpus.

    Raises:
        RefusedCorpusError: if the corpus must be changed.
    """
    done_file = folder.units / "done.json"
    if done_file.is_file():
        done = json.loads(done_file.read_text())
    else:
        done = _tokenize_units(
            folder, pool, paths, settings, allow_single, progress
        )
        _check_unchanged(paths, settings["corpus"])
    num_units = done.pop("num_units")
    totals = Totals(**done)
    for index in range(num_units):
        totals += read_spill_totals(unit_path(folder, index))
    check_totals(totals, allow_single)
    with writing_whole(done_file) as file:
        file.write(json.dumps({"num_units": num_units, **done}).encode())
    return num_units, totals


def _tokenize_units(folder, pool, paths, settings, allow_single, progress):
    total = sum(row["bytes"] for row in settings["corpus"])
    bar = _Bar(progress, "tokenizing", total)
    counts = ReadingCounts()
    sizes = []

    def tasks():
        units = read_units(
            paths, settings["text_field"], settings["unit_bytes"], counts
        )
        for unit in _refusing(units):
            sizes.append(unit.stored_bytes)
            if unit_path(folder, unit.index).is_file():
                bar.advance(unit.stored_bytes)
            else:
                yield unit.index, unit.texts

    seen = Totals()
    for index, totals in pool.run("tokenize_unit", tasks()):
        bar.advance(sizes[index])
        seen += totals
        if seen.documents >= _TELLING_DOCUMENTS:
            check_totals(seen, allow_single)
    return {
        "num_units": len(sizes),
        "cut_documents": counts.cut_documents,
        "split_lines": counts.split_lines,
    }


def write_missing_shards(
    folder: PreparationFolder,
    pool: WorkerPool,
    num_shards: int,
    num_units: int,
    progress=None,
) -> None:
    """The second half: writes all shards that are not there yet.

    Args:
        folder: `PreparationFolder`.
        pool: `WorkerPool`.
        num_shards: int.
        num_units: int. How many units were spilled.
        progress: `rich.progress.Progress`. Defaults to `None`.
    """
    bar = _Bar(progress, "writing shards", num_shards)
    missing = [
        index
        for index in range(num_shards)
        if not counts_path(folder, index).is_file()
    ]
    bar.advance(num_shards - len(missing))
    tasks = (
        (first, stop, num_units)
        for first, stop in consecutive(missing, _shards_at_once(num_shards))
    )
    for _, num_written in pool.run("write_shards", tasks):
        bar.advance(num_written)


def consecutive(numbers: list[int], longest: int) -> Iterator[tuple[int, int]]:
    """Groups ascending integers into ranges.

    >>> list(consecutive([0, 1, 2, 3, 5], 3))
    [(0, 3), (3, 4), (5, 6)]
    """
    first = stop = None
    for number in numbers:
        if number == stop and stop - first < longest:
            stop += 1
            continue
        if stop is not None:
            yield first, stop
        first, stop = number, number + 1
    if stop is not None:
        yield first, stop


def _shards_at_once(num_shards):
    """With many shards and many units, opening files would take long."""
    return 4 if num_shards > _MANY_SHARDS else 1


class _Bar:
    """A progress bar, or none."""

    def __init__(self, progress, description, total):
        self._progress = progress
        if progress is not None:
            self._task = progress.add_task(description, total=total)

    def advance(self, amount):
        if self._progress is not None:
            self._progress.advance(self._task, amount)


def _refusing(units):
    """Marks what is wrong with the text itself."""
    try:
        yield from units
    except ValueError as error:
        raise RefusedCorpusError(str(error)) from error


def _check_unchanged(paths, described):
    for path, before in zip(paths, described, strict=True):
        (now,) = describe_files([path])
        if now != before:
            raise RefusedCorpusError(
                f"The corpus file {path} changed while it was read. Start "
                "again when nothing writes to it any more."
            )
