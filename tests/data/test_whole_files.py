import pytest

from keras_albert.data.whole_files import remove_leftovers
from keras_albert.data.whole_files import replace_atomically
from keras_albert.data.whole_files import write_atomically
from keras_albert.data.whole_files import writing_whole


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a.bin"
    with writing_whole(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()

    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


def test_an_older_file_stays_whole_when_writing_fails(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write():
        with writing_whole(path) as file:
            file.write(b"new")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    other = tmp_path / "other"
    other.touch()
    writing = writing_whole(tmp_path / "a.bin")
    writing.__enter__()  # and killed
    (tmp_path / ".writing-1-preset" / "inside").mkdir(parents=True)

    remove_leftovers(tmp_path)

    assert list(tmp_path.iterdir()) == [other]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "state.json"
    write_atomically(path, "old")

    def fail():
        with replace_atomically(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_replaces_a_folder(tmp_path):
    path = tmp_path / "preset"
    path.mkdir()
    (path / "stale").touch()

    with replace_atomically(path) as temporary:
        temporary.mkdir()
        (temporary / "fresh").touch()

    assert [p.name for p in path.iterdir()] == ["fresh"]
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_name_keeps_the_suffixes(tmp_path):
    with replace_atomically(tmp_path / "a.weights.h5") as temporary:
        temporary.touch()
        assert temporary.name.endswith(".weights.h5")
        assert temporary.parent == tmp_path
