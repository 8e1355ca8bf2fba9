import gzip
import json
import random

import pytest

from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus import find_files
from keras_albert.data.corpus import iterate_documents
from keras_albert.data.corpus import read_documents
from keras_albert.data.corpus import resolve_files

TEXT = "A title\nOne sentence.\n\n\n  Second document. \n\t\nThird\n"
DOCUMENTS = [["A title", "One sentence."], ["Second document."], ["Third"]]


def write(path, content):
    content = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        content = gzip.compress(content)
    path.write_bytes(content)
    return path


def rows(*texts, field="text"):
    return "".join(json.dumps({field: text}) + "\n" for text in texts)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a", "a.gz"])
def test_a_blank_line_ends_a_document(tmp_path, name):
    path = write(tmp_path / name, TEXT)

    assert list(read_documents(path)) == DOCUMENTS


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz"])
def test_each_json_row_is_a_document(tmp_path, name):
    path = write(tmp_path / name, rows("One.\n\nTwo.", " ", "三。") + "\n")

    assert list(read_documents(path)) == [["One.", "Two."], ["三。"]]


def test_the_json_field_can_be_named(tmp_path):
    path = write(tmp_path / "a.jsonl", rows("One.", field="body"))

    assert list(read_documents(path, text_field="body")) == [["One."]]


def test_byte_order_mark_and_windows_line_ends_are_dropped(tmp_path):
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfOne\r\nTwo\r\n\r\nThree\r\n")

    assert list(read_documents(path)) == [["One", "Two"], ["Three"]]


def test_only_a_newline_ends_a_line(tmp_path):
    path = write(tmp_path / "a.txt", "One\x0cstill\x85one\u2028line\n")

    assert list(read_documents(path)) == [["One\x0cstill\x85one\u2028line"]]


def test_a_document_does_not_run_on_into_the_next_file(tmp_path):
    write(tmp_path / "1.txt", "One")
    write(tmp_path / "2.txt", "Two")

    assert list(read_documents(tmp_path / "*.txt")) == [["One"], ["Two"]]


def test_patterns_give_sorted_files_once(tmp_path):
    names = ["b.txt", "a.txt", "sub/c.txt"]
    (tmp_path / "sub").mkdir()
    b, a, c = [write(tmp_path / name, "x") for name in names]

    patterns = [str(tmp_path / "**/*.txt"), b, str(a)]

    assert resolve_files(patterns) == [a, b, c]


def test_a_real_name_with_pattern_signs_is_a_file(tmp_path):
    path = write(tmp_path / "a[1].txt", "One")

    assert resolve_files(str(path)) == [path]


@pytest.mark.parametrize(
    "name, error, message",
    [
        ("none.txt", FileNotFoundError, "none.txt does not exist"),
        ("*.csv", FileNotFoundError, r"\*.csv' matches no file"),
        ("", ValueError, "is a folder"),
        ("empty.txt", ValueError, "empty.txt is empty"),
        ("empty.txt.gz", ValueError, "empty.txt.gz is empty"),
        ("blank.txt", ValueError, "blank.txt holds only blanks"),
        ("wide.txt", ValueError, "byte 0, line 1.*UTF-16"),
        ("latin.txt", ValueError, "byte 10, line 2.*iconv"),
        ("broken.txt.gz", ValueError, "not a complete gzip file"),
        ("plain.txt.gz", ValueError, "not a complete gzip file"),
    ],
)
def test_bad_files_are_found_before_any_is_read(tmp_path, name, error, message):
    write(tmp_path / "good.txt", "Good.")
    write(tmp_path / "empty.txt", "")
    write(tmp_path / "empty.txt.gz", "")
    write(tmp_path / "blank.txt", " \n\n")
    write(tmp_path / "wide.txt", "Wide".encode("utf-16"))
    write(tmp_path / "latin.txt", b"One.\nCaf\xc3\xa9\xe9.\n")
    whole = gzip.compress(random.Random(0).randbytes(9000).hex().encode())
    (tmp_path / "broken.txt.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "plain.txt.gz").write_bytes(b"plain text")

    with pytest.raises(error, match=message):
        read_documents([tmp_path / "good.txt", tmp_path / name])


def test_no_files_at_all_is_an_error():
    with pytest.raises(ValueError, match="No corpus files"):
        read_documents([])


def test_a_bad_byte_far_down_is_named_with_its_place(tmp_path):
    good = "好句子。\n".encode() * 20000
    path = write(tmp_path / "a.txt", good + b"abc\xff\n")

    with pytest.raises(ValueError, match=f"byte {len(good) + 3}, line 20001"):
        list(read_documents(path))


def test_a_character_at_the_edge_of_the_probe_is_no_error(tmp_path):
    path = write(tmp_path / "a.txt", "x" + "好" * 40000)

    assert len(list(read_documents(path))[0][0]) == 40001


@pytest.mark.parametrize(
    "row, message",
    [
        ("[\n", r"Line 2 of .* is not JSON"),
        ('{"body": "x"}', r"Line 2 of .*no text in the field 'text'.*body"),
        ('{"text": 3}', "no text in the field"),
        ('["x"]', "no text in the field"),
    ],
)
def test_bad_json_rows_are_named(tmp_path, row, message):
    path = write(tmp_path / "a.jsonl", rows("Fine.") + row)

    with pytest.raises(ValueError, match=message):
        list(read_documents(path))


def test_documents_may_come_from_memory():
    documents = ["One.\nTwo.", ["Three.", "  "], [], "", b"\xe5\xa5\xbd"]

    assert list(iterate_documents(documents)) == [
        ["One.", "Two."],
        ["Three."],
        ["好"],
    ]


@pytest.mark.parametrize(
    "documents, message",
    [
        ("one string", "iterable of documents"),
        ([3], "Document 0 is of type int"),
        (["fine", ["x", None]], "Document 1 holds an item of type NoneType"),
    ],
)
def test_other_types_are_refused(documents, message):
    with pytest.raises(TypeError, match=message):
        list(iterate_documents(documents))


def test_reading_is_lazy(tmp_path):
    path = write(tmp_path / "a.txt", TEXT)

    documents = read_documents(path)

    assert next(documents) == DOCUMENTS[0]


def parts_of(path, max_bytes):
    counts = ReadingCounts()
    documents = read_documents(path, max_bytes=max_bytes, counts=counts)
    return list(documents), counts


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl"])
def test_long_documents_come_in_parts_of_whole_lines(tmp_path, name):
    text = "".join(f"Line {i}.\n" for i in range(10))
    path = tmp_path / name
    text = rows(text, "Short.") if "json" in name else f"{text}\n\nShort.\n"
    write(path, text)

    documents, counts = parts_of(path, 39)

    assert [len(document) for document in documents] == [4, 4, 2, 1]
    assert documents[2] == ["Line 8.", "Line 9."]
    assert counts.cut_documents == 1
    assert counts.split_lines == 0
    assert counts.stored_bytes == path.stat().st_size


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
@pytest.mark.parametrize("word", ["word ", "好", "a好𝄞é"])
def test_long_lines_are_cut_and_nothing_is_lost(tmp_path, name, word):
    line = word * 5000
    content = rows(f"First.\n{line}\nLast.")
    if name == "a.txt":
        content = f"First.\n{line}\nLast.\n\nNext.\n"
    path = write(tmp_path / name, content)

    documents, counts = parts_of(path, 1000)

    lines = [line for document in documents for line in document]
    assert max(len(line.encode()) for line in lines) <= 1000
    assert (counts.split_lines, counts.cut_documents) == (1, 1)
    middle = "".join(lines[1 : lines.index("Last.")])
    assert middle.replace(" ", "") == line.replace(" ", "")
    if word == "word ":
        words = {word for line in lines[1:-2] for word in line.split()}
        assert words == {"word"}


def test_places_in_a_file_are_right_behind_a_long_line(tmp_path):
    good = b"x" * 5000 + b"\n"
    path = write(tmp_path / "a.txt", good + b"abc\xff\n")

    with pytest.raises(ValueError, match=f"byte {len(good) + 3}, line 2"):
        parts_of(path, 100)


def test_a_file_that_vanishes_is_named(tmp_path):
    path = write(tmp_path / "a.txt", TEXT)
    documents = read_documents(path)
    path.unlink()

    with pytest.raises(FileNotFoundError, match="a.txt was there at first"):
        next(documents)


def test_find_files_does_not_look_into_them(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).touch()

    assert find_files([tmp_path / "*.txt", tmp_path / "a.txt"]) == [
        tmp_path / "a.txt",
        tmp_path / "b.txt",
    ]
    with pytest.raises(ValueError, match="is a folder"):
        find_files(tmp_path)
