import pytest

from keras_albert.training.files import replace_atomically
from keras_albert.training.files import write_atomically


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
