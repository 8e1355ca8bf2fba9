"""The output folder of a run: whose it is, and what it was asked for.

output/
  run.json                    the settings; marks the folder as a run's
  checkpoints/step-….h5       the last and the best state
  history.jsonl, history.csv  one record per evaluation
  curves.png
  steps.jsonl                 one record per optimizer update
  alarms.jsonl                what the watchdog saw, if anything
  tensorboard/                the same for TensorBoard, if asked for
  preset/                     the model, written last
"""

import dataclasses
import json
from pathlib import Path

from keras_albert.data.whole_files import write_atomically

# Settings that are hashes: what they are of has changed, not the hash.
_CONTENT = ("tokenizer", "text", "data", "evaluation_data")


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """The paths inside an output folder.

    Args:
        path: path of the folder.
    """

    path: Path

    @property
    def settings(self):
        """The run's settings."""
        return self.path / "run.json"

    @property
    def checkpoints(self):
        """Folder of the last and the best state."""
        return self.path / "checkpoints"

    @property
    def history(self):
        """One record per evaluation, as JSON lines."""
        return self.path / "history.jsonl"

    @property
    def history_table(self):
        """The same as CSV."""
        return self.path / "history.csv"

    @property
    def steps(self):
        """One record per optimizer update, as JSON lines."""
        return self.path / "steps.jsonl"

    @property
    def tensorboard(self):
        """Folder of TensorBoard's files."""
        return self.path / "tensorboard"

    @property
    def curves(self):
        """The picture of the history."""
        return self.path / "curves.png"

    @property
    def alarms(self):
        """What the watchdog saw, as JSON lines."""
        return self.path / "alarms.jsonl"

    @property
    def preset(self):
        """Folder of the finished model."""
        return self.path / "preset"


def check_run_folder(path, settings, unread=()):
    """Returns the `RunFolder` at `path` if a run may use it; writes nothing.

    Args:
        path: string or path.
        settings: dict of plain values that decide what the run computes.
        unread: names of settings that are not known yet.

    Raises:
        FileExistsError: if `path` is a file, a folder of something else, or
            of a run with other settings, which are named; if a file is where
            the run has a folder, or a folder where it has a file.
    """
    folder = RunFolder(Path(path).expanduser())
    if folder.path.exists() and not folder.path.is_dir():
        raise FileExistsError(
            f"The output {folder.path} is a file. Name a new folder."
        )
    if folder.settings.is_file():
        _check_same_settings(folder, _as_stored(settings), unread)
        _check_kinds(folder)
    elif folder.path.is_dir() and any(folder.path.iterdir()):
        raise FileExistsError(
            f"The output folder {folder.path} holds other files. Name a new "
            "or an empty folder, so that nothing of yours is overwritten."
        )
    return folder


def claim_run_folder(path, settings):
    """Returns the `RunFolder` at `path`, new or of the very same run.

    Args:
        path: string or path.
        settings: dict of plain values that decide what the run computes.

    Raises:
        FileExistsError: as `check_run_folder`.
    """
    folder = check_run_folder(path, settings)
    if not folder.settings.is_file():
        folder.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(_as_stored(settings), indent=2) + "\n"
        write_atomically(folder.settings, text)
    return folder


def _as_stored(settings):
    return json.loads(json.dumps(settings))


def _check_same_settings(folder, settings, unread):
    before = _read_settings(folder.settings)
    # A run of an earlier version does not know the hash of its text.
    unread = {*unread, *(key for key in _CONTENT if key not in before)}
    different = [
        f"the {key} has changed"
        if key in _CONTENT
        else f"{key} was {before.get(key)!r}, is {settings.get(key)!r}"
        for key in dict.fromkeys([*before, *settings])
        if before.get(key) != settings.get(key) and key not in unread
    ]
    if different:
        raise FileExistsError(
            f"The output folder {folder.path} belongs to another run: "
            f"{'; '.join(different)}. Repeat the settings to continue that "
            "run, or name another folder."
        )


def _check_kinds(folder):
    """Finds what would stop the run where it writes, perhaps at its end."""
    folders = folder.checkpoints, folder.preset, folder.tensorboard
    files = (
        folder.history,
        folder.history_table,
        folder.steps,
        folder.curves,
        folder.alarms,
    )
    for path in (*folders, *files):
        if path.exists() and path.is_dir() != (path in folders):
            found, wanted = (
                ("a file", "a folder")
                if path in folders
                else ("a folder", "a file")
            )
            raise FileExistsError(
                f"{path} is {found}, and the run needs {wanted} of that name. "
                "Move it elsewhere, or name another output folder."
            )


def _read_settings(path):
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise FileExistsError(
            f"{path} cannot be read, so that nobody knows what the run was. "
            "Restore it, or name another folder."
        )
    return settings
