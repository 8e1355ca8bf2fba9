import dataclasses
import json
import shutil

import pytest

from keras_albert.data import prepared_data
from keras_albert.data.prepared_data import is_prepared
from keras_albert.data.prepared_data import open_prepared
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import write_manifest
from tests.data.conftest import PREPARED_LENGTH
from tests.data.conftest import ToyTokenizer


@pytest.fixture
def folder(prepared, tmp_path):
    """A copy to be damaged."""
    return shutil.copytree(prepared, tmp_path / "copy")


def change(folder, **fields):
    manifest = read_manifest(folder)
    write_manifest(folder, dataclasses.replace(manifest, **fields))


def test_only_folders_are_prepared_data(prepared, tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("text")

    assert is_prepared(prepared)
    assert is_prepared(str(prepared))
    assert not is_prepared(file)
    assert not is_prepared([prepared])
    assert not is_prepared("*.txt")


def test_the_manifest_gives_the_length(prepared, toy_tokenizer):
    reader = open_prepared(prepared, toy_tokenizer, seed=1)

    assert reader.make_batch.sequence_length == PREPARED_LENGTH
    assert reader.make_batch.num_predictions == 6


def test_what_the_manifest_says_may_be_said_again(prepared, toy_tokenizer):
    open_prepared(
        prepared,
        toy_tokenizer,
        seed=1,
        sequence_length=PREPARED_LENGTH,
        short_sequence_probability=0.1,
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"sequence_length": 64}, "sequence_length=40.*64.*prepare"),
        ({"short_sequence_probability": 0.2}, "probability=0.1.*0.2"),
        ({"word_segmenter": str.split}, "word_segmenter.*prepare"),
        ({"objective": "mlm"}, "objective='mlm'"),
        ({"swap_probability": 1.2}, "swap_probability=1.2"),
        ({"num_predictions": 0}, "num_predictions=0"),
        ({"window_shards": 0}, "window_shards=0"),
    ],
)
def test_bad_arguments_are_named(prepared, toy_tokenizer, arguments, message):
    with pytest.raises(ValueError, match=message):
        open_prepared(prepared, toy_tokenizer, seed=1, **arguments)


def test_another_tokenizer_is_refused(prepared):
    class Other(ToyTokenizer):
        def fingerprint(self):
            return "other"

    with pytest.raises(ValueError, match="another tokenizer.*other.*toy"):
        open_prepared(prepared, Other(), seed=1)


def test_a_damaged_shard_is_found_before_any_batch(folder, toy_tokenizer):
    path = folder / read_manifest(folder).shards[2].name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(ValueError, match="shard-00002.* is damaged"):
        open_prepared(folder, toy_tokenizer, seed=1)
    open_prepared(folder, toy_tokenizer, seed=1, verify=False)


@pytest.mark.parametrize("verify", [True, False])
def test_a_missing_shard_is_found_before_any_batch(
    folder, toy_tokenizer, verify
):
    (folder / read_manifest(folder).shards[2].name).unlink()

    with pytest.raises(FileNotFoundError, match="lacks shard-00002"):
        open_prepared(folder, toy_tokenizer, seed=1, verify=verify)


def test_another_format_is_refused(folder, toy_tokenizer):
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "format_version": 99}))

    with pytest.raises(ValueError, match="version 99"):
        open_prepared(folder, toy_tokenizer, seed=1)


def test_labels_of_another_direction_are_refused(folder, toy_tokenizer):
    change(folder, sentence_order="0 = swapped")

    with pytest.raises(ValueError, match="'0 = swapped'"):
        open_prepared(folder, toy_tokenizer, seed=1)


@pytest.mark.parametrize("function", [pretraining_dataset, evaluation_dataset])
def test_a_folder_without_a_manifest_is_no_source(tmp_path, function):
    with pytest.raises(FileNotFoundError, match="holds no manifest.json"):
        function(tmp_path, batch_size=1, seed=1)


@pytest.mark.parametrize(
    "objective, totals, message",
    [
        ("nsp", {"documents": 1}, "at least two documents"),
        ("sop", {"documents": 7, "sentences": 7}, "each of the 7 documents"),
    ],
)
def test_what_cannot_be_learnt_is_refused(
    folder, toy_tokenizer, objective, totals, message
):
    before = read_manifest(folder).totals
    change(folder, totals=dataclasses.replace(before, **totals))

    with pytest.raises(ValueError, match=message):
        open_prepared(folder, toy_tokenizer, seed=1, objective=objective)
    open_prepared(folder, toy_tokenizer, seed=1, objective="none")


def test_no_example_is_no_data(folder, toy_tokenizer):
    change(folder, shards=())

    with pytest.raises(ValueError, match="holds no example"):
        open_prepared(folder, toy_tokenizer, seed=1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"num_workers": 3}, "batch_size=4, num_workers=3"),
        ({"num_workers": 2, "worker_index": 2}, "worker_index=2"),
        ({"num_workers": 0}, "num_workers=0"),
        ({"start_step": -1}, "start_step=-1"),
    ],
)
def test_workers_share_the_batch_evenly(
    prepared, toy_tokenizer, arguments, message
):
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(
            prepared, toy_tokenizer, batch_size=4, seed=1, **arguments
        )


def test_the_stored_tokenizer_is_the_default(tmp_path):
    """A real tokenizer, prepared as a user would."""
    from keras_albert.data.preparation import prepare_corpus

    vocabulary = tmp_path / "vocab.txt"
    words = ["one", "two", "three", "four", "##s"]
    vocabulary.write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    text = tmp_path / "text.txt"
    text.write_text("one two threes\nfour ones\ntwo two\n\nthree\nfour twos\n")
    prepare_corpus(text, vocabulary, tmp_path / "out", sequence_length=16)
    vocabulary.unlink()

    reader = open_prepared(tmp_path / "out", seed=1)

    assert reader.make_batch.tokenizer.id_to_token(5) == "one"
    batch = next(
        iter(pretraining_dataset(tmp_path / "out", batch_size=2, seed=1))
    )
    assert batch[0]["token_ids"].shape == (2, 16)
    assert prepared_data.is_prepared(tmp_path / "out")
