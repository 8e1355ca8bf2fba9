import pytest

from keras_albert.data.corpus_units import describe_files
from keras_albert.data.preparation_checks import RefusedCorpusError
from keras_albert.data.preparation_folder import PreparationFolder
from keras_albert.data.preparation_steps import consecutive
from keras_albert.data.preparation_steps import spill_units
from keras_albert.data.preparation_steps import write_missing_shards
from keras_albert.data.prepare_workers import Job
from keras_albert.data.prepare_workers import WorkerPool
from keras_albert.data.prepare_workers import read_counts
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.tokenizers.encoders import load_encoder
from tests.data.small_corpora import write_corpus
from tests.data.small_corpora import write_vocabulary

NUM_SHARDS = 3


class Progress:
    """Notes what a bar would show."""

    def __init__(self):
        self.bars = {}

    def add_task(self, description, total):
        self.bars[description] = [0, total]
        return description

    def advance(self, task, amount):
        self.bars[task][0] += amount


@pytest.fixture
def folder(tmp_path):
    folder = PreparationFolder(tmp_path / "out")
    folder.units.mkdir(parents=True)
    folder.shard_counts.mkdir()
    return folder


@pytest.fixture
def pool(folder, tmp_path):
    encoder = load_encoder(write_vocabulary(tmp_path / "vocab.txt"))
    job = Job(
        folder=folder.path,
        encoder_config=encoder.config(),
        vocabulary_size=encoder.vocabulary_size(),
        word_segmenter=None,
        num_shards=NUM_SHARDS,
        chunks=ChunkSettings(64, 0.1, 0),
    )
    return WorkerPool(job, 0)


def spill(folder, pool, path, progress=None, allow_single=False):
    settings = {
        "text_field": "text",
        "unit_bytes": 4000,
        "corpus": describe_files([path]),
    }
    return spill_units(folder, pool, [path], settings, allow_single, progress)


def test_both_halves_show_how_far_they_are(folder, pool, tmp_path):
    path = write_corpus(tmp_path / "corpus.txt")
    progress = Progress()

    num_units, totals = spill(folder, pool, path, progress)
    write_missing_shards(folder, pool, NUM_SHARDS, num_units, progress)

    size = path.stat().st_size
    assert progress.bars == {
        "tokenizing": [size, size],
        "writing shards": [NUM_SHARDS, NUM_SHARDS],
    }
    assert num_units > 5
    contents = [read_counts(folder, index) for index in range(NUM_SHARDS)]
    assert sum(content.num_tokens for content in contents) == totals.tokens


def test_what_is_there_is_shown_as_done(folder, pool, tmp_path):
    path = write_corpus(tmp_path / "corpus.txt")
    num_units, totals = spill(folder, pool, path)
    write_missing_shards(folder, pool, NUM_SHARDS, num_units)
    (folder.units / "done.json").unlink()
    progress = Progress()

    again = spill(folder, pool, path, progress)
    write_missing_shards(folder, pool, NUM_SHARDS, num_units, progress)

    assert again == (num_units, totals)
    assert all(done == total for done, total in progress.bars.values())


def test_bad_text_is_marked_as_such(folder, pool, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"One. Two.\n" * 10000 + b"\xff\n")

    with pytest.raises(RefusedCorpusError, match="not UTF-8: byte 100000"):
        spill(folder, pool, path)


def test_consecutive_numbers_are_grouped():
    assert list(consecutive([0, 1, 2, 3, 5], 3)) == [(0, 3), (3, 4), (5, 6)]
    assert list(consecutive([], 3)) == []
