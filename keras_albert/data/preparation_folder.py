"""The output folder of a preparation: whose it is, and how far it has come.

    DIR/.lock                     held while a process prepares into DIR
    DIR/preparation.json          settings and corpus files; written first
    DIR/.work/units/unit-….bin    spilled units of the corpus
    DIR/.work/shards/shard-….npz  what was counted in a finished shard
    DIR/shard-….tfrecord, …       see `keras_albert.data.shards`

Every file appears when it is complete, so that what is there is done.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from keras_albert.data.shards import MANIFEST_FILE
from keras_albert.data.shards import TOKEN_COUNTS_FILE
from keras_albert.data.shards import TOKENIZER_FOLDER
from keras_albert.data.whole_files import remove_leftovers
from keras_albert.data.whole_files import writing_whole

SETTINGS_FILE = "preparation.json"
_LOCK_FILE = ".lock"
_WORK_FOLDER = ".work"


class PreparationFolder:
    """The paths inside an output folder.

    Args:
        path: string or path of the folder.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def work(self) -> Path:
        """Folder of everything that is deleted in the end."""
        return self.path / _WORK_FOLDER

    @property
    def units(self) -> Path:
        """Folder of the spilled units."""
        return self.work / "units"

    @property
    def shard_counts(self) -> Path:
        """Folder of what was counted in finished shards."""
        return self.work / "shards"

    @property
    def tokenizer(self) -> Path:
        """Folder of the tokenizer's copy."""
        return self.path / TOKENIZER_FOLDER

    @property
    def is_complete(self) -> bool:
        """Whether the manifest is there."""
        return (self.path / MANIFEST_FILE).is_file()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes out of the folder, which is made if needed.

        Raises:
            FileExistsError: if the path is a file, or if another process
                prepares into the folder.
        """
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(
                f"The output {self.path} is a file. Name a new folder."
            )
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        handle = self._lock()
        try:
            yield
        finally:
            (self.path / _LOCK_FILE).unlink(missing_ok=True)
            os.close(handle)
            if is_new:
                # Nothing was begun: leave no trace.
                with contextlib.suppress(OSError):
                    self.path.rmdir()

    def _lock(self):
        path = self.path / _LOCK_FILE
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise FileExistsError(
                    f"Another process is preparing data into {self.path}. "
                    "Wait until it is done, or name another folder."
                ) from None
            # The last owner may have removed the file that was just opened.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(handle).st_ino == os.stat(path).st_ino:
                    return handle
            os.close(handle)

    def claim(self, settings: dict, overwrite: bool) -> None:
        """Makes the folder this preparation's, new or the very same one's.

        Args:
            settings: dict of plain values that decide what is prepared.
            overwrite: bool. Whether to remove what was prepared before.

        Raises:
            FileExistsError: if the folder holds other files, or data prepared
                with other settings, which are named.
        """
        settings = json.loads(json.dumps(settings))
        path = self.path / SETTINGS_FILE
        was_ours = path.is_file()
        if overwrite:
            self.clear()
        if path.is_file():
            before = json.loads(path.read_text(encoding="utf-8"))
            check_same_settings(before, settings, self.path, self.is_complete)
        else:
            if not was_ours:
                self._check_empty()
            with writing_whole(path) as file:
                file.write(json.dumps(settings, indent=2).encode() + b"\n")
        if not self.is_complete:
            for folder in (self.path, self.units, self.shard_counts):
                folder.mkdir(parents=True, exist_ok=True)
                remove_leftovers(folder)

    def remove_work(self) -> None:
        """Removes what only an unfinished preparation needs."""
        shutil.rmtree(self.work, ignore_errors=True)

    def clear(self) -> None:
        """Removes what was prepared here, and nothing else."""
        settings = self.path / SETTINGS_FILE
        if not settings.is_file():
            return
        # The manifest first: without it, nothing here counts as complete.
        (self.path / MANIFEST_FILE).unlink(missing_ok=True)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.tokenizer, ignore_errors=True)
        remove_leftovers(self.path)
        for pattern in ("shard-*-of-*.tfrecord", TOKEN_COUNTS_FILE):
            for path in self.path.glob(pattern):
                path.unlink()
        settings.unlink()

    def _check_empty(self):
        remove_leftovers(self.path)
        others = {path.name for path in self.path.iterdir()} - {_LOCK_FILE}
        if others:
            raise FileExistsError(
                f"The output folder {self.path} holds other files, such as "
                f"{min(others)}. Name a new or an empty folder, so that "
                "nothing of yours is mixed up."
            )


def check_same_settings(
    before: dict, now: dict, path: str | Path, is_complete: bool
) -> None:
    """Compares the settings of a folder with those asked for.

    Args:
        before: dict, what the folder was claimed for.
        now: dict.
        path: string or path of the folder, for the message.
        is_complete: bool.

    Raises:
        FileExistsError: if they differ.
    """
    different = [
        _difference(name, before.get(name), now.get(name))
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]
    if different:
        state = "holds" if is_complete else "was begun for"
        raise FileExistsError(
            f"The output folder {path} {state} data prepared with other "
            f"settings: {'; '.join(different)}. Name another folder, repeat "
            "the settings, or start afresh with --overwrite "
            "(overwrite=True)."
        )


def _difference(name, before, now):
    if isinstance(before, list) and isinstance(now, list):
        files = [{row["path"]: row for row in rows} for rows in (before, now)]
        changed = sorted(
            path
            for path in {*files[0], *files[1]}
            if files[0].get(path) != files[1].get(path)
        )
        others = f" and {len(changed) - 1} others" if len(changed) > 1 else ""
        return f"the corpus file {changed[0]}{others} changed, came or went"
    return f"{name} was {before!r}, is {now!r}"
