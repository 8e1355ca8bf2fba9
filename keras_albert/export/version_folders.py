"""Numbered folders of one model: which are there, and making the next."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np


@contextlib.contextmanager
def writing_version(output, version=None):
    """Yields a folder aside; gives it its number when the block succeeds.

    A server that watches `output` never sees half of a version, and versions
    that are there are never touched. Of a block that fails nothing is left,
    nor of the folders that were made for it.

    Args:
        output: path of the model's folder.
        version: int, or `None` for the next free one.

    Yields:
        `(unfinished, target)`: the folder to write, and its path to be.

    Raises:
        TypeError: if `version` is no integer.
        ValueError: if it exists, or `output` is a file.
    """
    output = Path(output)
    version = free_version(output, version)
    target = output / str(version)
    missing = [path for path in (output, *output.parents) if not path.exists()]
    output.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=output))
    try:
        yield unfinished, target
        # mkdtemp makes folders private; a server has a user of its own.
        unfinished.chmod(0o755)
        free_version(output, version)  # it may have appeared meanwhile
        os.rename(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        with contextlib.suppress(OSError):  # another one writes there, too
            for path in missing:
                path.rmdir()
        raise


def free_version(output, version=None):
    """Chooses or checks a version's number.

    Args:
        output: path of the model's folder, which need not exist.
        version: int, or `None` for one more than the largest.

    Returns:
        Int.
    """
    output = Path(output)
    if output.exists() and not output.is_dir():
        raise ValueError(
            f"`output` must be a folder, but {output} is a file. Choose "
            "another name."
        )
    taken = find_versions(output)
    if version is None:
        return max(taken, default=0) + 1
    if isinstance(version, bool) or not isinstance(version, (int, np.integer)):
        raise TypeError(
            "`version` must be an integer, as TensorFlow Serving orders "
            f"versions by number. Received: version={version!r}."
        )
    if version < 0:
        raise ValueError(
            f"`version` must not be negative. Received: version={version}."
        )
    if version in taken:
        raise ValueError(
            f"Version {version} exists in {output}. Leave `version` out to "
            f"take the next free one, {max(taken) + 1}."
        )
    return int(version)


def find_versions(output):
    """Lists the numbers of the versions in a model's folder.

    Args:
        output: path, which need not exist.

    Returns:
        Sorted list of int.

    >>> find_versions("no such folder")
    []
    """
    output = Path(output)
    if not output.is_dir():
        return []
    names = (path.name for path in output.iterdir())
    return sorted({int(n) for n in names if n.isascii() and n.isdecimal()})
