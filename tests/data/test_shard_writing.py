import hashlib
import io

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import write_shard
from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import offsets_of

SETTINGS = ChunkSettings(
    sequence_length=19, short_sequence_probability=0.2, seed=3
)
VOCABULARY_SIZE = 300


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(0)
    sentences_per_document = random.integers(1, 12, 60)
    lengths = random.integers(1, 14, sentences_per_document.sum())
    lengths[::40] = 70  # far longer than an example
    return TokenizedDocuments(
        identities=random.integers(-(2**63), 2**63 - 1, 60),
        document_offsets=offsets_of(sentences_per_document),
        sentence_offsets=offsets_of(lengths),
        pieces=random.integers(0, 2 * VOCABULARY_SIZE, lengths.sum()).astype(
            "uint16"
        ),
    )


def written(documents, settings=SETTINGS):
    """The bytes of the shard and what was said about it."""
    file = io.BytesIO()
    documents = documents.by_identity()
    content = write_shard(file, documents, settings, VOCABULARY_SIZE)
    return file.getvalue(), content


def parsed(data, tmp_path):
    """The records as TensorFlow reads them."""
    path = tmp_path / "shard.tfrecord"
    path.write_bytes(data)
    rows = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        features = tf.train.Example.FromString(record).features.feature
        rows.append(
            {
                name: list(feature.bytes_list.value or feature.int64_list.value)
                for name, feature in features.items()
            }
        )
    return rows


def test_nothing_of_a_document_is_lost_or_moved(documents, tmp_path):
    data, content = written(documents)
    rows = parsed(data, tmp_path)

    assert content.num_examples == len(rows)
    by_document = {}
    for row in rows:
        (identity,) = row["document"]
        (bits,) = row["word_starts"]
        ids = row["token_ids"]
        assert len(bits) == -(-len(ids) // 8)
        starts = np.unpackbits(
            np.frombuffer(bits, "uint8"), bitorder="little", count=len(ids)
        )
        pieces = 2 * np.array(ids) + starts
        assert sum(row["sentence_lengths"]) == len(ids)
        by_document.setdefault(identity, []).append(pieces)
    assert list(by_document) == sorted(documents.identities.tolist())
    for index, identity in enumerate(documents.identities.tolist()):
        first, last = documents.document_offsets[index : index + 2]
        start, stop = documents.sentence_offsets[[first, last]]
        found = np.concatenate(by_document[identity])
        assert (found == documents.pieces[start:stop]).all()


def test_chunks_keep_within_what_readers_are_told(documents, tmp_path):
    data, content = written(documents)
    rows = parsed(data, tmp_path)

    lengths = [len(row["token_ids"]) for row in rows]
    assert content.max_chunk_tokens == max(lengths) <= 16 - 1 + 16
    assert max(max(row["sentence_lengths"]) for row in rows) <= 16
    assert content.max_chunk_sentences == max(
        len(row["sentence_lengths"]) for row in rows
    )


def test_the_content_is_counted(documents):
    data, content = written(documents)

    long = np.diff(documents.sentence_offsets) > 16
    assert content.num_split_sentences == long.sum() > 0
    assert content.num_tokens == documents.num_tokens
    assert content.sha256 == hashlib.sha256(data).hexdigest()
    expected = np.zeros(VOCABULARY_SIZE, "int64")
    np.add.at(expected, documents.token_ids, 1)
    assert (content.token_counts == expected).all()


def test_the_order_of_documents_changes_nothing(documents):
    order = np.random.default_rng(1).permutation(documents.num_documents)

    assert written(documents)[0] == written(documents.take(order))[0]


def test_a_document_is_cut_alike_in_any_company(documents, tmp_path):
    all_rows = parsed(written(documents)[0], tmp_path)
    few = documents.take(np.array([7, 3]))
    rows = parsed(written(few)[0], tmp_path)

    identities = few.identities.tolist()
    assert rows == [r for r in all_rows if r["document"][0] in identities]


def test_another_seed_cuts_otherwise(documents):
    other = ChunkSettings(19, 0.2, seed=4)

    assert written(documents)[0] != written(documents, other)[0]


def test_records_do_not_depend_on_how_many_are_made_at_once(
    documents, monkeypatch
):
    expected = written(documents)[0]
    monkeypatch.setattr("keras_albert.data.shard_writing._RECORDS_PER_STEP", 7)

    assert written(documents)[0] == expected


def test_a_shard_may_be_empty(documents):
    data, content = written(documents.take(np.array([], "int64")))

    assert data == b""
    assert (content.num_examples, content.max_chunk_tokens) == (0, 0)
