import pytest

from keras_albert.data.whole_files import remove_leftovers
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

    remove_leftovers(tmp_path)

    assert list(tmp_path.iterdir()) == [other]
