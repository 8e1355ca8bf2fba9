import dataclasses

import pytest

from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shards import file_sha256
from keras_albert.data.shards import shard_name
from keras_albert.tokenizers.encoders import load_encoder
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_corpus
from tests.data.small_corpora import write_vocabulary

beam = pytest.importorskip("apache_beam", reason="needs the extra `beam`")

from keras_albert.data.beam_pipeline import BeamJob  # noqa: E402
from keras_albert.data.beam_pipeline import build_pipeline  # noqa: E402
from keras_albert.data.beam_pipeline import read_result  # noqa: E402


def test_a_pipeline_writes_shards_and_counts_them(tmp_path):
    encoder = load_encoder(write_vocabulary(tmp_path / "vocab.txt"))
    texts = documents(40)
    for index in range(4):
        part = texts[10 * index : 10 * index + 10]
        write_corpus(tmp_path / f"{index}.txt", part)
    output = tmp_path / "out"
    output.mkdir()
    job = BeamJob(
        output=str(output),
        encoder_config=encoder.config(),
        vocabulary_size=encoder.vocabulary_size(),
        word_segmenter=None,
        text_field="text",
        num_shards=3,
        chunks=ChunkSettings(64, 0.1, 0),
    )

    # The second pattern names a file of the first once more.
    patterns = [str(tmp_path / "[0-3].txt"), str(tmp_path / "1.txt")]
    with beam.Pipeline() as pipeline:
        build_pipeline(pipeline, job, patterns)
    contents, totals = read_result(str(output))

    _, expected = DocumentTokenizer(encoder).tokenize(texts)
    assert dataclasses.asdict(totals) == dataclasses.asdict(expected)
    assert sum(content.num_tokens for content in contents) == expected.tokens
    names = [shard_name(index, 3) for index in range(3)]
    assert sorted(path.name for path in output.iterdir()) == names
    for name, content in zip(names, contents, strict=True):
        assert file_sha256(output / name) == content.sha256
        assert content.token_counts.sum() == content.num_tokens
