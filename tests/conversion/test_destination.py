"""A folder is whole or not there, whatever happens."""

import pytest

from keras_albert.conversion.destination import writing_folder


def test_it_appears_when_the_block_succeeds(tmp_path):
    path = tmp_path / "new" / "model"
    with writing_folder(path) as folder:
        (folder / "a").write_text("x")
        assert not path.exists()

    assert (path / "a").read_text() == "x"
    assert [p.name for p in path.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("exists", [False, True])
def test_nothing_changes_when_the_block_fails(tmp_path, exists):
    path = tmp_path / "model"
    if exists:
        path.mkdir()
        (path / "old").write_text("x")

    def fail():
        with writing_folder(path, overwrite=True) as folder:
            (folder / "a").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert [p.name for p in tmp_path.iterdir()] == ["model"] * exists
    assert not exists or (path / "old").read_text() == "x"


def test_what_exists_is_kept_unless_told(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").write_text("x")

    with (
        pytest.raises(FileExistsError, match="--overwrite"),
        writing_folder(path),
    ):
        pass
    with writing_folder(path, overwrite=True) as folder:
        (folder / "new").write_text("y")

    assert [p.name for p in path.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_file_is_never_replaced(tmp_path):
    (tmp_path / "model").write_text("x")

    with (
        pytest.raises(NotADirectoryError, match="is a file"),
        writing_folder(tmp_path / "model", overwrite=True),
    ):
        pass
