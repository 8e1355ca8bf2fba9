import shutil

import numpy as np
import pytest

from keras_albert.training.phases import Phase
from keras_albert.training.phases import phase_spans
from keras_albert.training.pretrain import pretrain
from keras_albert.training.pretrain_result import load_pretrained
from keras_albert.training.run_data import BatchSettings
from keras_albert.training.run_folders import open_folders
from tests.training.conftest import LETTERS

SETTINGS = BatchSettings(objective="sop", seed=1, evaluation_passes=1)


def spans(*lengths, steps=10):
    phases = [Phase(length, 1 / len(lengths)) for length in lengths]
    return phase_spans(phases, steps, batch_size=4)


def test_held_out_shards_are_never_trained_on(prepare):
    (span,) = spans(16)
    data = open_folders([prepare("short")], None, 0.25, [span], SETTINGS)

    assert data.sources[16].shards == [0, 1, 2]
    assert data.held_out_sources[16].shards == [3]
    manifest_tokens = data.num_train_tokens
    everything = open_folders(
        [prepare("short")], [prepare("other")], 0.25, [span], SETTINGS
    )
    assert manifest_tokens < everything.num_train_tokens
    assert everything.sources[16].shards is None
    assert everything.num_train_documents == 24


def test_lengths_must_be_there_once(prepare):
    with pytest.raises(ValueError, match="no folder of sequence length 32"):
        open_folders([prepare("short")], None, 0.1, spans(16, 32), SETTINGS)
    with pytest.raises(ValueError, match="two folders of sequence length 16"):
        open_folders(
            [prepare("short"), prepare("other")], None, 0.1, spans(16), SETTINGS
        )


def test_what_cannot_hold_out_text_says_what_to_do(prepare):
    with pytest.raises(ValueError, match="more --num-shards"):
        open_folders(
            [prepare("single", num_shards=1)], None, 0.1, spans(16), SETTINGS
        )
    with pytest.raises(ValueError, match="same --num-shards"):
        open_folders(
            [prepare("short"), prepare("long3", 24, num_shards=3)],
            None,
            0.1,
            spans(16, 24),
            SETTINGS,
        )


def test_folders_of_two_tokenizers_are_refused(prepare):
    from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

    other = AlbertWordPieceTokenizer(
        vocabulary=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, "."]
    )
    with pytest.raises(ValueError, match="another tokenizer"):
        open_folders(
            [prepare("short")],
            [prepare("foreign", tokenizer=other)],
            0.1,
            spans(16),
            SETTINGS,
        )


@pytest.fixture
def run(tmp_path, tiny_config):
    def call(**changes):
        arguments = {
            "config": tiny_config,
            "steps": 4,
            "batch_size": 4,
            "evaluation_every": 2,
            "held_out_share": 0.25,
            "jit_compile": False,
            "output": tmp_path / "out",
        }
        return pretrain(**{**arguments, **changes})

    return call


def test_a_run_from_prepared_data_needs_no_tokenizer(run, prepare, tokenizer):
    result = run(data=prepare("short"))

    assert [record["step"] for record in result.history] == [2, 4]
    assert np.isfinite(result.final["val_masked_lm_loss"])
    assert result.masked_lm_floor > 0
    model = load_pretrained(result)
    assert model.preprocessor.sequence_length == 16
    stored = model.preprocessor.tokenizer
    assert stored.fingerprint() == tokenizer.fingerprint()


def test_a_length_that_was_not_prepared_is_named(run, prepare):
    with pytest.raises(ValueError, match="no folder of sequence length 32"):
        run(data=prepare("short"), sequence_length=32)


def test_a_run_goes_on_with_the_same_prepared_data_only(run, prepare, tmp_path):
    """The folder keeps its name, but what is in it was prepared anew."""
    folder = tmp_path / "data"
    shutil.copytree(prepare("short"), folder)
    run(data=folder)
    shutil.rmtree(folder)
    shutil.copytree(prepare("short5", num_shards=5), folder)

    with pytest.raises(FileExistsError, match="data has changed"):
        run(data=folder)


def test_damaged_shards_are_found_before_the_run(run, prepare, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(prepare("short"), folder)
    shard = next(folder.glob("*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)

    with pytest.raises(ValueError, match=shard.name):
        run(data=folder)

    assert not (tmp_path / "out").exists()


def test_shards_are_verified_once_for_a_run(run, prepare, monkeypatch):
    from keras_albert.data import prepared_data
    from keras_albert.training import run_folders

    calls = []

    def count(folder, verify=run_folders.verify_shards):
        calls.append(folder)
        return verify(folder)

    for module in (run_folders, prepared_data):
        monkeypatch.setattr(module, "verify_shards", count)
    run(data=prepare("short"), evaluation_passes=2)

    assert len(calls) == 1


def test_a_share_outside_of_0_to_1_is_refused(run, prepare):
    with pytest.raises(ValueError, match="between 0 and 1"):
        run(data=prepare("short"), held_out_share=1.5)
