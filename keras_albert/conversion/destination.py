"""A folder that is either whole or not there."""

import contextlib
import os
import shutil
import uuid
from pathlib import Path


@contextlib.contextmanager
def writing_folder(path, overwrite=False):
    """Yields a new folder aside; gives it its name when the block succeeds.

    Args:
        path: path of the folder to be.
        overwrite: bool. Whether it may take the place of what is there.
            Defaults to `False`.

    Raises:
        FileExistsError: if there is something and it may not be replaced.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} exists already. Choose another name, or say --overwrite "
            "(overwrite=True) to replace it."
        )
    if path.is_file():
        raise NotADirectoryError(
            f"{path} is a file; a folder will not take its place. Choose "
            "another name."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:8]
    temporary = path.with_name(f".writing-{mark}-{path.name}")
    old = path.with_name(f".replaced-{mark}-{path.name}")
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            os.replace(path, old)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
