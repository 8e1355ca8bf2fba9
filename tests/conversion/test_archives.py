"""Archives of strangers: unpacked below one folder, or refused."""

import io
import stat
import tarfile
import zipfile

import pytest

from keras_albert.conversion import archives
from keras_albert.conversion.archives import is_archive
from keras_albert.conversion.archives import unpacked


def make_tar(path, members, mode="w:gz"):
    """`members`: dict from name to bytes, or to a prepared TarInfo."""
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("suffix", archives.SUFFIXES)
def test_content_is_found_and_removed_afterwards(tmp_path, suffix):
    members = {"model/a.txt": b"one", "model/sub/b.txt": b"two"}
    path = tmp_path / f"x{suffix}"
    if suffix == ".zip":
        make_zip(path, members)
    else:
        make_tar(path, members, "w" if suffix == ".tar" else "w:gz")

    assert is_archive(path)
    with unpacked(path) as folder:
        assert folder.name == "model"
        assert (folder / "a.txt").read_bytes() == b"one"
        assert (folder / "sub" / "b.txt").read_bytes() == b"two"
    assert not folder.exists()


def link(name, target, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "members",
    [
        {"../evil.txt": b"x"},
        {"a/../../evil.txt": b"x"},
        {"/evil.txt": b"x"},
        {"a\\..\\..\\evil.txt": b"x"},
    ],
)
@pytest.mark.parametrize("make", [make_tar, make_zip])
def test_a_path_that_leads_out_is_refused(tmp_path, make, members):
    suffix = ".zip" if make is make_zip else ".tgz"
    path = make(tmp_path / f"x{suffix}", {"good.txt": b"x", **members})

    with (
        pytest.raises(ValueError, match="outside the folder"),
        unpacked(path),
    ):
        pass
    assert list(tmp_path.parent.rglob("evil.txt")) == []


@pytest.mark.parametrize(
    "member",
    [
        link("l", "/etc/passwd", tarfile.SYMTYPE),
        link("l", "good.txt", tarfile.SYMTYPE),
        link("l", "good.txt", tarfile.LNKTYPE),
        link("l", "", tarfile.CHRTYPE),
        link("l", "", tarfile.FIFOTYPE),
    ],
)
def test_a_link_or_device_is_refused(tmp_path, member):
    members = {"good.txt": b"x", "l": member}
    path = make_tar(tmp_path / "x.tgz", members)

    with pytest.raises(ValueError, match="link or a device"), unpacked(path):
        pass


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("l")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")

    with pytest.raises(ValueError, match="link or a device"), unpacked(path):
        pass


@pytest.mark.parametrize("suffix", [".tgz", ".zip"])
def test_a_bomb_is_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    make = make_zip if suffix == ".zip" else make_tar
    path = make(tmp_path / f"x{suffix}", {"big": bytes(2000)})

    with pytest.raises(ValueError, match="more than any"), unpacked(path):
        pass


@pytest.mark.parametrize("suffix", [".tgz", ".zip"])
def test_an_archive_cut_off_is_refused(tmp_path, suffix):
    make = make_zip if suffix == ".zip" else make_tar
    path = make(tmp_path / f"x{suffix}", {"a": b"text" * 999, "b": b"x" * 99})
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(ValueError, match="damaged or cut off"), unpacked(path):
        pass


def test_a_folder_is_no_archive(tmp_path):
    (tmp_path / "x.zip").mkdir()
    assert not is_archive(tmp_path / "x.zip")
    assert not is_archive(tmp_path / "nothing.tar.gz")
