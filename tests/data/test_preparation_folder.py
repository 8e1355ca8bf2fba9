import os
import subprocess
import sys

import pytest

from keras_albert.data.preparation_folder import PreparationFolder

SETTINGS = {"seed": 1, "corpus": [{"path": "a.txt", "bytes": 3}]}
# Holds the lock until its standard input is closed.
HOLDER = """
import sys
from keras_albert.data.preparation_folder import PreparationFolder
with PreparationFolder(sys.argv[1]).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    return PreparationFolder(tmp_path / "out")


def claim(folder, overwrite=False, **changes):
    with folder.locked():
        folder.claim({**SETTINGS, **changes}, overwrite)


def files_of(folder):
    return {path.name for path in folder.path.rglob("*") if path.is_file()}


def complete(folder):
    claim(folder)
    folder.tokenizer.mkdir()
    for name in (
        "manifest.json",
        "token_counts.npy",
        "shard-00000-of-00001.tfrecord",
        "tokenizer/vocab.txt",
    ):
        (folder.path / name).touch()
    folder.remove_work()


def test_a_new_folder_is_claimed(folder):
    claim(folder)

    assert files_of(folder) == {"preparation.json"}
    assert folder.units.is_dir()
    assert folder.shard_counts.is_dir()
    assert not folder.is_complete


def test_the_same_settings_go_on_and_leftovers_go(folder):
    claim(folder)
    (folder.units / "unit-000000.bin").touch()
    for place in (folder.units, folder.path):
        (place / ".writing-0-half").touch()

    claim(folder)

    assert files_of(folder) == {"preparation.json", "unit-000000.bin"}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"seed": 2}, "was begun for data .* seed was 1, is 2"),
        ({"more": "x"}, "more was None, is 'x'"),
        (
            {"corpus": [{"path": "a.txt", "bytes": 4}]},
            "the corpus file a.txt changed",
        ),
        (
            {"corpus": [{"path": "b.txt", "bytes": 3}]},
            "the corpus file a.txt and 1 others changed",
        ),
    ],
)
def test_other_settings_are_named(folder, changes, message):
    claim(folder)

    with pytest.raises(FileExistsError, match=message):
        claim(folder, **changes)

    assert files_of(folder) == {"preparation.json"}


def test_overwriting_removes_what_was_prepared_and_nothing_else(folder):
    complete(folder)
    (folder.path / "notes.txt").touch()

    claim(folder, overwrite=True, seed=2)

    assert files_of(folder) == {"preparation.json", "notes.txt"}
    claim(folder, seed=2)


def test_folders_of_others_are_left_alone(folder):
    folder.path.mkdir()
    (folder.path / "manifest.json").touch()

    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="other files.*manifest.json"):
            claim(folder, overwrite)

    assert files_of(folder) == {"manifest.json"}


def test_a_file_is_no_folder(folder):
    folder.path.touch()

    with pytest.raises(FileExistsError, match="is a file"):
        claim(folder)


def test_a_complete_folder_stays_as_it_is(folder):
    complete(folder)
    before = files_of(folder)

    claim(folder)

    assert folder.is_complete
    assert files_of(folder) == before
    assert not folder.work.exists()


def test_nothing_is_left_where_nothing_was_begun(folder):
    with folder.locked():
        pass

    assert not folder.path.exists()


def test_a_second_process_is_refused_until_the_first_is_gone(folder):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(FileExistsError, match="Another process"):
            claim(folder)
        assert os.listdir(folder.path) == [".lock"]
        holder.kill()
        holder.wait()

    claim(folder)  # a killed process leaves its file, not its lock
    assert files_of(folder) == {"preparation.json"}
