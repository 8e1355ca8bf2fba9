import numpy as np
import pytest

from keras_albert.data.preparation_checks import RefusedCorpusError
from keras_albert.data.preparation_checks import check_arguments
from keras_albert.data.preparation_checks import check_totals
from keras_albert.data.preparation_checks import make_manifest
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import ShardContent
from keras_albert.data.shards import Totals
from keras_albert.tokenizers.encoders import load_encoder
from tests.data.small_corpora import write_vocabulary


def test_good_arguments_pass():
    check_arguments(8, 0.0, None, None)
    check_arguments(512, 1.0, 0, 1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((7, 0.1, 1, 1), "`sequence_length` must be at least 8.*=7"),
        ((64, -0.1, 1, 1), r"lie in \[0, 1\]. Received: -0.1"),
        ((64, 0.1, -1, 1), "`workers` must be at least 0"),
        ((64, 0.1, 1, 0), "`num_shards` must be at least 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_arguments(*arguments)


def test_a_corpus_must_teach_something():
    check_totals(Totals(documents=2, one_sentence_documents=1), False)
    check_totals(Totals(documents=2, one_sentence_documents=2), True)
    with pytest.raises(RefusedCorpusError, match="the 2 documents read is a"):
        check_totals(Totals(documents=2, one_sentence_documents=2), False)
    with pytest.raises(RefusedCorpusError, match="no document with a token"):
        check_totals(Totals(), True)


def test_shards_are_summed_up(tmp_path):
    encoder = load_encoder(write_vocabulary(tmp_path / "vocab.txt"))
    contents = [
        ShardContent(3, 50, 2, 30, 4, np.zeros(9, "int64"), "aa"),
        ShardContent(5, 70, 1, 20, 9, np.zeros(9, "int64"), "bb"),
    ]

    manifest = make_manifest(
        ChunkSettings(64, 0.1, 7),
        encoder,
        "tokenizer/vocab.txt",
        None,
        contents,
        Totals(documents=4, tokens=120),
    )

    assert manifest.totals == Totals(
        documents=4, tokens=120, examples=8, split_sentences=3
    )
    assert (manifest.max_chunk_tokens, manifest.max_chunk_sentences) == (30, 9)
    assert [s.name[:11] for s in manifest.shards] == [
        "shard-00000",
        "shard-00001",
    ]
    assert [s.num_examples for s in manifest.shards] == [3, 5]
    assert [s.sha256 for s in manifest.shards] == ["aa", "bb"]
    assert manifest.special_token_ids["mask"] == encoder.mask_token_id
    assert manifest.seed == 7
