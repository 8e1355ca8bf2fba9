import gzip

import pytest

from keras_albert.data.preparation import prepare_corpus
from keras_albert.data.shards import verify_shards
from keras_albert.tokenizers.loading import load_tokenizer
from tests.data.small_corpora import digests
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_corpus
from tests.data.small_corpora import write_vocabulary

pytest.importorskip("apache_beam", reason="needs the extra `beam`")

from keras_albert.data.beam_preparation import prepare_with_beam  # noqa: E402

OPTIONS = {"sequence_length": 64, "seed": 3, "num_shards": 5}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return write_vocabulary(tmp_path_factory.mktemp("v") / "vocab.txt")


@pytest.fixture
def files(tmp_path):
    texts = documents(90)
    giant = "\n".join(documents(1200, seed=2)).replace("\n\n", "\n")
    first = write_corpus(tmp_path / "a.txt", texts[:50])
    second = write_corpus(tmp_path / "b.txt", [*texts[50:], giant])
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(second.read_bytes()))
    return [first, packed]


@pytest.mark.parametrize(
    "pipeline_options",
    [
        [],
        [
            "--direct_num_workers=2",
            "--direct_running_mode=multi_processing",
        ],
    ],
)
def test_shards_are_those_of_the_plain_preparation(
    files, vocabulary, tmp_path, pipeline_options
):
    plain = prepare_corpus(
        files, vocabulary, tmp_path / "plain", workers=0, **OPTIONS
    )

    cluster = prepare_with_beam(
        [tmp_path / "a.txt", tmp_path / "*.gz", *files],
        vocabulary,
        tmp_path / "beam",
        pipeline_options=pipeline_options,
        **OPTIONS,
    )

    assert cluster.manifest == plain.manifest
    assert cluster.manifest.totals.cut_documents == 1
    assert digests(tmp_path / "beam") == digests(tmp_path / "plain")
    manifest = verify_shards(tmp_path / "beam")
    tokenizer = load_tokenizer(tmp_path / "beam" / manifest.tokenizer)
    assert tokenizer.fingerprint() == manifest.tokenizer_fingerprint


def test_the_default_number_of_shards_is_the_same(files, vocabulary, tmp_path):
    plain = prepare_corpus(files, vocabulary, tmp_path / "plain", workers=0)
    cluster = prepare_with_beam(files, vocabulary, tmp_path / "beam")

    assert cluster.manifest == plain.manifest


def test_shards_without_documents_are_written(vocabulary, tmp_path):
    path = write_corpus(tmp_path / "a.txt", documents(2))

    prepared = prepare_with_beam(
        path, vocabulary, tmp_path / "out", num_shards=9
    )

    counts = [shard.num_examples for shard in prepared.manifest.shards]
    assert len(counts) == 9
    assert 0 in counts
    verify_shards(tmp_path / "out")


def test_a_complete_folder_is_left_alone_and_others_refused(
    files, vocabulary, tmp_path
):
    def prepare(**changes):
        return prepare_with_beam(
            files, vocabulary, tmp_path / "out", **{**OPTIONS, **changes}
        )

    first = prepare()
    again = prepare()
    with pytest.raises(FileExistsError, match="seed was 3, is 4"):
        prepare(seed=4)
    other = prepare(seed=4, num_shards=2, overwrite=True)

    assert (first.was_complete, again.was_complete) == (False, True)
    assert again.manifest == first.manifest
    assert not other.was_complete
    assert len(list((tmp_path / "out").glob("shard-*"))) == 2


def test_other_manifests_are_left_alone(files, vocabulary, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("mine")

    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="of something else"):
            prepare_with_beam(
                files, vocabulary, tmp_path / "out", overwrite=overwrite
            )


def test_a_missing_file_is_named(vocabulary, tmp_path):
    with pytest.raises(FileNotFoundError, match="none.* matches no file"):
        prepare_with_beam(tmp_path / "none*", vocabulary, tmp_path / "out")


def test_a_damaged_file_is_named_and_nothing_is_taken_for_whole(
    files, vocabulary, tmp_path
):
    content = files[1].read_bytes()
    files[1].write_bytes(content[: len(content) // 2])

    with pytest.raises(ChildProcessError, match="b.txt.gz is not a complete"):
        prepare_with_beam(files, vocabulary, tmp_path / "out")

    assert not (tmp_path / "out" / "manifest.json").exists()
    assert not list((tmp_path / "out").rglob(".writing-*"))


def test_single_sentences_are_refused(vocabulary, tmp_path):
    path = write_corpus(tmp_path / "a.txt", ["The rain.", "On that."])

    with pytest.raises(ValueError, match="is a single sentence"):
        prepare_with_beam(path, vocabulary, tmp_path / "out")

    assert not (tmp_path / "out" / "manifest.json").exists()
