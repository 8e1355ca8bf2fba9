"""Files that are either whole or not there.

A process can be killed and a disk can fill up at any moment, so that nothing
is written in place: first under a temporary name in the same folder, then
renamed once it is safe on the disk.
"""

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PREFIX = ".writing-"


@contextlib.contextmanager
def replace_atomically(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path; renames it to `path` when the block succeeds.

    The temporary name keeps every suffix of `path`, since writers choose their
    format by it. A folder replaces an older folder of that name.

    Args:
        path: string or path. Folders above it are made.

    Yields:
        The path of a file or folder that the block makes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{_PREFIX}{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield temporary
        _flush_to_disk(temporary)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        _remove(temporary)


@contextlib.contextmanager
def writing_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file that gets its name when the block succeeds.

    Args:
        path: string or path. An older file of that name is replaced.

    Yields:
        A binary file.
    """
    with replace_atomically(path) as temporary, temporary.open("wb") as file:
        yield file


def write_atomically(path: str | Path, text: str) -> None:
    """Writes a UTF-8 text file.

    Args:
        path: string or path. An older file of that name is replaced.
        text: string.
    """
    with writing_whole(path) as file:
        file.write(text.encode("utf-8"))


def remove_leftovers(folder: str | Path) -> None:
    """Removes what killed processes left half-written in a folder.

    Args:
        folder: string or path.
    """
    for path in Path(folder).glob(f"{_PREFIX}*"):
        _remove(path)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush_to_disk(path):
    """Waits for the disk: a renamed file must not be empty after a crash."""
    files = path.rglob("*") if path.is_dir() else [path]
    for file in files:
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
