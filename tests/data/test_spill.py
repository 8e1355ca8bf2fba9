import numpy as np
import pytest

from keras_albert.data.shards import Totals
from keras_albert.data.spill import read_spill
from keras_albert.data.spill import read_spill_totals
from keras_albert.data.spill import write_spill
from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import concatenate
from keras_albert.data.tokenized_documents import offsets_of
from keras_albert.data.tokenized_documents import shards_of

TOTALS = Totals(documents=50, tokens=12)
NUM_SHARDS = 7


@pytest.fixture(params=["uint16", "uint32"])
def documents(request):
    random = np.random.default_rng(0)
    sentences = random.integers(1, 5, 50)
    lengths = random.integers(1, 9, sentences.sum())
    largest = np.iinfo(request.param).max
    return TokenizedDocuments(
        identities=random.integers(-(2**63), 2**63 - 1, 50),
        document_offsets=offsets_of(sentences),
        sentence_offsets=offsets_of(lengths),
        pieces=random.integers(0, largest, lengths.sum()).astype(request.param),
    )


@pytest.fixture
def path(documents, tmp_path):
    path = tmp_path / "unit.bin"
    write_spill(path, documents, TOTALS, NUM_SHARDS)
    return path


def assert_equal(found, expected):
    for name, array in vars(expected).items():
        assert (getattr(found, name) == array).all(), name
        assert getattr(found, name).dtype == array.dtype


@pytest.mark.parametrize("width", [1, 3, NUM_SHARDS])
def test_shards_come_back_in_order(documents, path, width):
    shards = shards_of(documents.identities, NUM_SHARDS)
    order = np.concatenate([np.flatnonzero(shards == s) for s in range(7)])

    parts = [
        read_spill(path, first, min(first + width, NUM_SHARDS))
        for first in range(0, NUM_SHARDS, width)
    ]

    assert_equal(concatenate(parts), documents.take(order))


def test_totals_come_back(path):
    assert read_spill_totals(path) == TOTALS


def test_a_unit_may_hold_nothing(documents, tmp_path):
    nothing = documents.take(np.array([], "int64"))
    write_spill(tmp_path / "a", nothing, Totals(), 3)

    assert read_spill(tmp_path / "a", 1, 3).num_documents == 0
    assert read_spill_totals(tmp_path / "a") == Totals()


@pytest.mark.parametrize("length", [0, 20, 60, 700, -1])
def test_damaged_files_are_named(path, length):
    content = path.read_bytes()
    path.write_bytes(content[:length])

    def read():
        read_spill(path, 0, NUM_SHARDS)
        read_spill_totals(path)

    with pytest.raises(ValueError, match="unit.bin is damaged"):
        read()


def test_other_files_are_refused(path):
    path.write_bytes(b"x" * 1000)

    with pytest.raises(ValueError, match="unit.bin is damaged"):
        read_spill(path, 0, 1)
