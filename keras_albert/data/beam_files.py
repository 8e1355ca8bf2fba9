"""Files of Apache Beam's file systems: local ones, and those of clusters."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems


class WholeFile:
    """Opens a file that gets its name when the block succeeds.

    Args:
        folder: string. The folder's path or address.
        name: string.
    """

    def __init__(self, folder, name):
        # Workers may do the same work twice at a time: each has a name.
        temporary = f".writing-{uuid.uuid4().hex}-{Path(name).name}"
        self._target = FileSystems.join(folder, name)
        self._temporary = FileSystems.join(folder, temporary)

    def __enter__(self):
        self._file = FileSystems.create(
            self._temporary, compression_type=CompressionTypes.UNCOMPRESSED
        )
        return self._file

    def __exit__(self, kind, *exception):
        self._file.close()
        if kind is None:
            FileSystems.rename([self._temporary], [self._target])
        else:
            FileSystems.delete([self._temporary])


def describe_files(patterns: Sequence[str]) -> list[dict]:
    """Lists path, size and time of change of all files of a corpus.

    Args:
        patterns: sequence of strings.

    Returns:
        A list of dicts, sorted by path; a file named twice is listed once.

    Raises:
        FileNotFoundError: if a pattern matches nothing.
    """
    found = {}
    for pattern, match in zip(
        patterns, FileSystems.match(patterns), strict=True
    ):
        if not match.metadata_list:
            raise FileNotFoundError(
                f"The pattern '{pattern}' matches no file. Check the folder "
                "and the ending."
            )
        for metadata in match.metadata_list:
            found[metadata.path] = {
                "path": metadata.path,
                "bytes": metadata.size_in_bytes,
                "changed": metadata.last_updated_in_seconds,
            }
    return [found[path] for path in sorted(found)]


def open_stored(path: str):
    """Opens a file as it is stored, compressed or not, for reading."""
    return FileSystems.open(
        path, compression_type=CompressionTypes.UNCOMPRESSED
    )


def write_file(folder: str, name: str, content: bytes) -> None:
    """Writes a small file.

    Args:
        folder: string.
        name: string. It may have folders of its own, which are made.
        content: bytes.
    """
    parent = FileSystems.join(folder, *Path(name).parts[:-1])
    if not FileSystems.exists(parent):
        FileSystems.mkdirs(parent)
    with WholeFile(parent, Path(name).name) as file:
        file.write(content)


def read_file(path: str) -> bytes:
    """Reads a small file."""
    with open_stored(path) as file:
        return file.read()
