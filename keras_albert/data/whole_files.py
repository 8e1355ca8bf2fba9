"""Files that are either whole or not there.

A process can be killed and a disk can fill up at any moment, so that nothing
is written in place: first under a temporary name in the same folder, then
renamed once it is safe on the disk.
"""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PREFIX = ".writing-"


@contextlib.contextmanager
def writing_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file that gets its name when the block succeeds.

    Args:
        path: string or path. An older file of that name is replaced.

    Yields:
        A binary file.
    """
    path = Path(path)
    name = f"{_PREFIX}{uuid.uuid4().hex[:8]}-{path.name}"
    temporary = path.with_name(name)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: str | Path) -> None:
    """Removes what killed processes left half-written in a folder.

    Args:
        folder: string or path.
    """
    for path in Path(folder).glob(f"{_PREFIX}*"):
        path.unlink(missing_ok=True)
