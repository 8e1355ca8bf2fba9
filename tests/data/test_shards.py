import json

import numpy as np
import pytest

from keras_albert.data.shards import Manifest
from keras_albert.data.shards import ShardInfo
from keras_albert.data.shards import Totals
from keras_albert.data.shards import file_sha256
from keras_albert.data.shards import parse_manifest
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import read_token_counts
from keras_albert.data.shards import shard_name
from keras_albert.data.shards import verify_shards
from keras_albert.data.shards import write_manifest


@pytest.fixture
def folder(tmp_path):
    """A folder of two shards and its manifest."""
    infos = []
    for index in range(2):
        path = tmp_path / shard_name(index, 2)
        path.write_bytes(b"content %d" % index)
        infos.append(ShardInfo(path.name, 3 + index, 100, file_sha256(path)))
    np.save(tmp_path / "token_counts.npy", np.arange(5))
    write_manifest(tmp_path, manifest(tuple(infos)))
    return tmp_path


def manifest(infos):
    return Manifest(
        sequence_length=128,
        short_sequence_probability=0.1,
        seed=7,
        max_chunk_tokens=249,
        max_chunk_sentences=30,
        vocabulary_size=5,
        tokenizer="tokenizer/spiece.model",
        tokenizer_fingerprint="abc",
        special_token_ids={"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4},
        word_segmenter=None,
        totals=Totals(documents=4, tokens=200),
        shards=infos,
    )


def test_shards_sort_by_number():
    assert shard_name(3, 8) == "shard-00003-of-00008.tfrecord"


def test_a_manifest_comes_back_as_it_was(folder):
    read = read_manifest(folder)

    assert read == manifest(read.shards)
    assert read.num_examples == 7
    assert read.sentence_order == "1 = swapped, 0 = in order"
    assert verify_shards(folder) == read
    assert read_token_counts(folder, read).tolist() == [0, 1, 2, 3, 4]


def test_totals_add_up():
    total = Totals(documents=1, tokens=5) + Totals(tokens=2, bytes_lost=3)

    assert total == Totals(documents=1, tokens=7, bytes_lost=3)


@pytest.mark.parametrize("change", ["flip", "shorten", "empty"])
def test_a_changed_shard_is_named(folder, change):
    path = folder / shard_name(1, 2)
    content = bytearray(path.read_bytes())
    content[4] ^= change == "flip"
    length = {"flip": len(content), "shorten": 5, "empty": 0}[change]
    path.write_bytes(content[:length])

    with pytest.raises(ValueError, match="shard-00001-of-00002.* is damaged"):
        verify_shards(folder)


def test_a_missing_shard_is_named(folder):
    (folder / shard_name(1, 2)).unlink()

    with pytest.raises(FileNotFoundError, match="lacks shard-00001"):
        read_manifest(folder)


def test_folders_without_a_manifest_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder .*/none"):
        read_manifest(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="holds no manifest.json"):
        read_manifest(tmp_path)
    (tmp_path / "preparation.json").touch()
    with pytest.raises(FileNotFoundError, match="not finished"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format_version": 1}'])
def test_a_damaged_manifest_is_named(folder, text):
    (folder / "manifest.json").write_text(text)

    with pytest.raises(ValueError, match="manifest.json is no manifest"):
        read_manifest(folder)


def test_another_version_is_refused(folder):
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "format_version": 2}))

    with pytest.raises(ValueError, match="version 2; this release reads"):
        read_manifest(folder)


def test_a_manifest_is_read_from_bytes(folder):
    path = folder / "manifest.json"

    assert parse_manifest(path.read_bytes(), path) == read_manifest(folder)
