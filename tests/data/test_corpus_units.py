import gzip

import pytest

from keras_albert.data import corpus_units
from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus_units import default_num_shards
from keras_albert.data.corpus_units import default_unit_bytes
from keras_albert.data.corpus_units import describe_files
from keras_albert.data.corpus_units import guess_text_bytes
from keras_albert.data.corpus_units import read_units
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_corpus

MB = 1 << 20


def units_of(paths, unit_bytes, counts=None):
    return list(
        read_units(paths, "text", unit_bytes, counts or ReadingCounts())
    )


def test_units_are_whole_documents_in_order(tmp_path):
    texts = documents(40)
    path = write_corpus(tmp_path / "a.txt", texts)

    units = units_of([path], 5000)

    assert [text for unit in units for text in unit.texts] == texts
    assert [unit.index for unit in units] == list(range(len(units)))
    sizes = [sum(map(len, unit.texts)) for unit in units]
    assert min(sizes[:-1]) >= 5000
    longest = max(map(len, texts))
    assert max(sizes) < 5000 + longest
    assert sum(unit.stored_bytes for unit in units) == path.stat().st_size


def test_units_go_on_from_file_to_file(tmp_path):
    texts = documents(9)
    paths = [
        write_corpus(tmp_path / f"{i}.txt", [text])
        for i, text in enumerate(texts)
    ]

    (unit,) = units_of(paths, MB)

    assert unit.texts == texts


def test_giant_documents_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_units, "MAX_DOCUMENT_BYTES", 1000)
    text = "\n".join(f"Line {i}." for i in range(1000))
    path = write_corpus(tmp_path / "a.txt", [text])
    counts = ReadingCounts()

    units = units_of([path], 3000, counts)

    pieces = [text for unit in units for text in unit.texts]
    assert "\n".join(pieces) == text
    assert max(map(len, pieces)) <= 1000
    assert counts.cut_documents == 1
    assert max(len(unit.texts) for unit in units) <= 4


def test_text_in_gzip_files_is_guessed(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(b"x" * 1000)
    packed.write_bytes(gzip.compress(b"x"))

    guess = guess_text_bytes([plain, packed])

    assert guess == 1000 + 3 * packed.stat().st_size


@pytest.mark.parametrize(
    "text_bytes, expected",
    [
        (1, 1),
        (MB // 4, 1),
        (MB, 4),
        (2 * MB, 8),
        (4 * MB, 16),
        (128 * MB, 16),
        (128 * MB + 1, 17),
        (8000 * MB, 1000),
    ],
)
def test_the_number_of_shards_follows_the_text(text_bytes, expected):
    assert default_num_shards(text_bytes) == expected


@pytest.mark.parametrize(
    "text_bytes, expected",
    [
        (1, MB // 4),
        (2 * MB, MB // 2),
        (4 * MB, MB),
        (8192 * MB, MB),
        (4 * 8192 * MB, 2 * MB),
        (100 * 8192 * MB, 10 * MB),
    ],
)
def test_units_grow_with_the_square_root_of_very_large_corpora(
    text_bytes, expected
):
    assert default_unit_bytes(text_bytes) == expected


def test_changed_files_are_described_otherwise(tmp_path):
    path = write_corpus(tmp_path / "a.txt", ["One."])
    before = describe_files([path])

    write_corpus(path, ["One. Two."])

    assert before == [
        {"path": str(path), "bytes": 5, "changed": before[0]["changed"]}
    ]
    assert describe_files([path]) != before
