"""Unpacking an archive that somebody else made.

Published checkpoints come as `.tar.gz` and `.zip`. Only plain files and
folders below the archive's own root are unpacked: a path that leads out of
it, a link or a device is refused before anything is written.
"""

import contextlib
import tarfile
import tempfile
import zipfile
from pathlib import Path
from pathlib import PurePosixPath

SUFFIXES = (".tar.gz", ".tgz", ".tar", ".zip")
# Larger than any published model; a bomb must not fill the disk.
MOST_BYTES = 20 * 2**30


def is_archive(path):
    """Whether a path is a file whose name says that it is an archive."""
    path = Path(path)
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


@contextlib.contextmanager
def unpacked(path):
    """Yields the folder of an archive's content, removed afterwards.

    Args:
        path: path of a `.tar`, `.tar.gz`, `.tgz` or `.zip` file.

    Raises:
        ValueError: if it is damaged, too large, or holds anything but plain
            files below its root.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="keras-albert-") as folder:
        try:
            if path.name.lower().endswith(".zip"):
                _unpack_zip(path, folder)
            else:
                _unpack_tar(path, folder)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as e:
            raise ValueError(
                f"{path} is damaged or cut off, or is no archive. Fetch it "
                f"again. ({e})"
            ) from None
        yield _content(Path(folder))


def _unpack_zip(path, folder):
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            # The upper half holds the kind of file, as on Unix.
            kind = member.external_attr >> 28
            plain = kind in (0, 0o4, 0o10)
            _check(path, member.filename, plain)
        _check_size(path, sum(member.file_size for member in members))
        archive.extractall(folder)


def _unpack_tar(path, folder):
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        for member in members:
            _check(path, member.name, member.isfile() or member.isdir())
        _check_size(path, sum(member.size for member in members))
        archive.extractall(folder, filter="data")


def _check(path, name, is_plain):
    pure = PurePosixPath(name.replace("\\", "/"))
    inside = not pure.is_absolute() and ".." not in pure.parts
    if not inside or ":" in pure.parts[0:1]:
        raise ValueError(
            f"{path} wants to write to {name!r}, outside the folder it is "
            "unpacked in. Refused; nothing was unpacked."
        )
    if not is_plain:
        raise ValueError(
            f"{path} holds {name!r}, which is a link or a device and no file. "
            "Refused; nothing was unpacked."
        )


def _check_size(path, size):
    if size > MOST_BYTES:
        raise ValueError(
            f"{path} would unpack to {size / 2**30:.0f} GiB, more than any "
            "ALBERT. Refused; unpack it yourself if you trust it."
        )


def _content(folder):
    """Goes into the one folder that many archives wrap everything in."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        return inside[0]
    return folder
