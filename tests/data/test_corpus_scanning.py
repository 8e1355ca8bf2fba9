"""Scanning: the documents of `read_documents`, and every fault counted."""

import gzip

import pytest

from keras_albert.data import corpus_scanning
from keras_albert.data.corpus import read_documents
from keras_albert.data.corpus_scanning import FileScan
from keras_albert.data.corpus_scanning import scan_documents


@pytest.fixture
def scan(tmp_path):
    def scan(content, name="a.txt", **options):
        path = tmp_path / name
        path.write_bytes(content)
        found = FileScan(str(path), len(content))
        documents = [list(d) for d in scan_documents(path, found, **options)]
        return documents, found

    return scan


GOOD = "A.\nB. C.\n \n\nD.\r\n\ufeffé。\n\n\nE"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_documents_of_a_good_file_are_those_of_the_reader(scan, tmp_path, name):
    content = ("\ufeff" + GOOD).encode()
    content = gzip.compress(content) if name.endswith(".gz") else content

    documents, found = scan(content, name)

    assert documents == list(read_documents(tmp_path / name))
    assert len(documents) == 3
    assert found.num_lines == GOOD.count("\n") + 1
    assert found.num_text_lines == 5
    assert found.num_crlf_lines == 1
    assert found.text_bytes == len(GOOD.encode())
    assert not found.damage


def test_lines_in_parts_are_the_same_text(scan, monkeypatch):
    text = "中é" * 500 + " x\nshort\n\n" + "y" * 64 * 20
    whole, as_a_whole = scan(text.encode())
    monkeypatch.setattr(corpus_scanning, "MAX_PART_BYTES", 64)

    parts, found = scan(text.encode())

    assert ["".join(d).replace(" ", "") for d in parts] == [
        "".join(d).replace(" ", "") for d in whole
    ]
    assert found == as_a_whole
    assert (found.longest_line, found.longest_line_number) == (1280, 4)
    assert found.num_undecodable == 0


def test_bytes_that_are_not_utf8_are_counted_and_left_out(scan):
    lost = "\ufffd".encode()
    lines = [b"good", b"b\xffa\xfed", b"good", b"caf\xe9" + lost, lost]

    documents, found = scan(b"\n".join(lines))

    assert documents == [["good", "bad", "good", "caf\ufffd", "\ufffd"]]
    assert found.num_undecodable_lines == 2
    assert found.num_undecodable == 3
    assert found.undecodable_places == [2, 4]


def test_only_the_first_places_are_kept(scan):
    _, found = scan(b"\xff\n" * 9)

    assert found.num_undecodable_lines == 9
    assert found.undecodable_places == [1, 2, 3, 4, 5]


def test_gzip_cut_short(scan):
    content = gzip.compress(b"".join(b"%d. One.\n" % i for i in range(9999)))

    documents, found = scan(content[: len(content) // 2], "a.txt.gz")

    assert documents[0][0] == "0. One."
    assert "ended before" in found.damage


def test_file_that_vanished(tmp_path):
    found = FileScan("x")

    assert list(scan_documents(tmp_path / "x.txt", found)) == []
    assert "No such file" in found.damage


def test_rows_of_json_lines(scan):
    rows = [
        b'{"text": "One.\\n\\nTwo."}',
        b"",
        b"{]",
        b'{"body": "x"}',
        b'{"text": 3}',
        b'["text"]',
        b'{"text": "Three."}',
    ]

    documents, found = scan(b"\n".join(rows), "a.jsonl")

    assert documents == [["One.", "Two."], ["Three."]]
    assert found.num_bad_rows == 4
    assert found.bad_row_places == [3, 4, 5, 6]


def test_field_of_json_lines(scan):
    documents, found = scan(b'{"body": "x"}', "a.json.gz.jsonl")
    assert documents == []

    documents, found = scan(b'{"body": "x"}', "a.jsonl", text_field="body")

    assert documents == [["x"]]
    assert found.num_bad_rows == 0


def test_utf16_is_noticed_and_not_read_on(scan):
    documents, found = scan("One.\nTwo.".encode("utf-16"))

    assert documents == []
    assert found.looks_like_utf16


def test_empty_file(scan):
    assert scan(b"") == ([], FileScan(scan(b"")[1].path))


def test_long_lines(scan):
    text = "x" * 10_000 + "\n" + "y" * 10_001 + "\r\n" + "z" * 20_000

    _, found = scan(text.encode())

    assert found.num_long_lines == 2
    assert (found.longest_line, found.longest_line_number) == (20_000, 3)


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_progress_adds_up_to_the_file(scan, monkeypatch, step):
    monkeypatch.setattr(corpus_scanning, "_PROGRESS_BYTES", step)
    content = gzip.compress(b"One. Two.\n" * 100_000)
    steps = []

    _, found = scan(content, "a.txt.gz", progress=steps.append)

    assert sum(steps) == len(content) == found.stored_bytes
    assert min(steps) >= 0
