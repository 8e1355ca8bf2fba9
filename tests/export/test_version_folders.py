"""Numbered folders appear whole or not at all."""

import os

import pytest

from keras_albert.export.version_folders import find_versions
from keras_albert.export.version_folders import free_version
from keras_albert.export.version_folders import writing_version


def write(output, version=None):
    with writing_version(output, version) as (unfinished, target):
        (unfinished / "file").write_text("whole")
        assert unfinished.parent == output
        assert not unfinished.name.isdecimal()
        assert not target.exists()
    return target


def test_versions_count_up(tmp_path):
    for name in ("7", "00000011", "v12", ".unfinished-0", "¹"):
        (tmp_path / name).mkdir()

    targets = [write(tmp_path), write(tmp_path), write(tmp_path, 8)]

    assert [t.name for t in targets] == ["12", "13", "8"]
    assert all((t / "file").read_text() == "whole" for t in targets)
    assert find_versions(tmp_path) == [7, 8, 11, 12, 13]


def test_folder_is_made(tmp_path):
    assert write(tmp_path / "a" / "b") == tmp_path / "a" / "b" / "1"
    assert os.listdir(tmp_path / "a" / "b") == ["1"]


def test_a_server_may_read_the_folder(tmp_path):
    assert write(tmp_path).stat().st_mode & 0o777 == 0o755


def interrupted(output):
    with writing_version(output) as (unfinished, _):
        (unfinished / "half").touch()
        raise KeyboardInterrupt


def test_failure_leaves_nothing(tmp_path):
    (tmp_path / "old" / "1").mkdir(parents=True)

    for name in ("new", "old"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(tmp_path / name)

    assert os.listdir(tmp_path) == ["old"]
    assert os.listdir(tmp_path / "old") == ["1"]


def test_failure_leaves_no_folder_above(tmp_path):
    for name in ("new/a/b", "old"):
        (tmp_path / "old").mkdir(exist_ok=True)
        with pytest.raises(KeyboardInterrupt):
            interrupted(tmp_path / name)

    assert os.listdir(tmp_path) == ["old"]


def test_failure_spares_what_others_wrote(tmp_path):
    def fail():
        with writing_version(tmp_path / "new" / "onnx"):
            (tmp_path / "new" / "litert").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert os.listdir(tmp_path / "new") == ["litert"]


def overtaken(output):
    with writing_version(output) as (_, target):
        target.mkdir()
        (target / "other").touch()


def test_a_version_that_appears_meanwhile_is_kept(tmp_path):
    with pytest.raises(ValueError, match="Version 1 exists"):
        overtaken(tmp_path)

    assert os.listdir(tmp_path) == ["1"]
    assert os.listdir(tmp_path / "1") == ["other"]


@pytest.mark.parametrize(
    "version, error, message",
    [
        ("1", TypeError, "must be an integer.*version='1'"),
        (1.0, TypeError, "must be an integer.*version=1.0"),
        (True, TypeError, "must be an integer"),
        (-1, ValueError, "not be negative"),
        (3, ValueError, "Version 3 exists .* next free one, 4"),
    ],
)
def test_bad_version(tmp_path, version, error, message):
    (tmp_path / "3").mkdir()

    with pytest.raises(error, match=message):
        free_version(tmp_path, version)


def test_output_that_is_a_file(tmp_path):
    (tmp_path / "out").write_text("mine")

    with pytest.raises(ValueError, match="must be a folder, but .*out is a fi"):
        write(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
