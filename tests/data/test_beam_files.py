import pytest

pytest.importorskip("apache_beam", reason="needs the extra `beam`")

from keras_albert.data.beam_files import WholeFile  # noqa: E402
from keras_albert.data.beam_files import describe_files  # noqa: E402
from keras_albert.data.beam_files import open_stored  # noqa: E402
from keras_albert.data.beam_files import read_file  # noqa: E402
from keras_albert.data.beam_files import write_file  # noqa: E402


def test_a_file_appears_when_it_is_complete(tmp_path):
    with WholeFile(str(tmp_path), "a.bin") as file:
        file.write(b"half")
        assert not (tmp_path / "a.bin").exists()

    assert (tmp_path / "a.bin").read_bytes() == b"half"
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_left_of_a_failure(tmp_path):
    def write():
        with WholeFile(str(tmp_path), "a.bin") as file:
            file.write(b"half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()

    assert not list(tmp_path.iterdir())


def test_small_files_make_their_folders_and_replace_older_ones(tmp_path):
    for content in (b"old", b"new"):
        write_file(str(tmp_path / "x"), "deep/down/a.txt", content)

    assert read_file(str(tmp_path / "x" / "deep" / "down" / "a.txt")) == b"new"


def test_files_are_opened_as_they_are_stored(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(b"\x1f\x8b no gzip at all")

    with open_stored(str(path)) as file:
        assert file.read() == path.read_bytes()


def test_files_are_listed_once_in_order(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name * 3)

    found = describe_files([str(tmp_path / "*.txt"), str(tmp_path / "b.txt")])

    assert [(row["path"], row["bytes"]) for row in found] == [
        (str(tmp_path / "a.txt"), 15),
        (str(tmp_path / "b.txt"), 15),
    ]
    with pytest.raises(FileNotFoundError, match="none.* matches no file"):
        describe_files([str(tmp_path / "*.txt"), str(tmp_path / "none*")])
