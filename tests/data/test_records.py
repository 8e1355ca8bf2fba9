import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import records

VALUES = [0, 1, 127, 128, 16383, 16384, 2**35, 2**63 - 1, -1, -(2**63)]


def tf_example(features):
    def feature(value):
        if isinstance(value, bytes):
            return tf.train.Feature(
                bytes_list=tf.train.BytesList(value=[value])
            )
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    message = tf.train.Example(
        features=tf.train.Features(
            feature={name: feature(value) for name, value in features.items()}
        )
    )
    return message.SerializeToString(deterministic=True)


def our_example(features):
    def feature(value):
        if isinstance(value, bytes):
            return records.bytes_list(value)
        (encoded,) = records.int64_lists(np.array(value), [0, len(value)])
        return encoded

    return records.example({n: feature(v) for n, v in features.items()})


@pytest.mark.parametrize("count", [1, 3, 127, 128, 40000])
def test_examples_are_those_of_tensorflow(count):
    random = np.random.default_rng(count)
    features = {
        "token_ids": random.integers(0, 30000, count).tolist(),
        "word_starts": random.bytes(count),
        "document": [int(random.integers(-(2**63), 2**63 - 1))],
        "sentence_lengths": VALUES,
    }

    assert our_example(features) == tf_example(features)


def test_an_empty_list_is_an_empty_list():
    features = {"a": []}

    parsed = tf.train.Example.FromString(our_example(features))

    assert parsed.features.feature["a"].WhichOneof("kind") == "int64_list"
    assert our_example(features) == tf_example(features)


def test_varints_begin_at_their_offsets():
    encoded, offsets = records.encode_varints(np.array([1, 300, 5]))

    assert encoded.tolist() == [1, 0xAC, 2, 5]
    assert offsets.tolist() == [0, 1, 3, 4]


def test_no_varints():
    encoded, offsets = records.encode_varints(np.array([], "int64"))

    assert encoded.size == 0
    assert offsets.tolist() == [0]


@pytest.mark.parametrize("value", [v for v in VALUES if v >= 0])
def test_both_ways_to_write_a_varint_agree(value):
    encoded, _ = records.encode_varints(np.array([value]))

    assert records.varint(value) == encoded.tobytes()


def test_files_are_those_of_tensorflow(tmp_path):
    random = np.random.default_rng(0)
    datas = [random.bytes(length) for length in (0, 1, 9, 5000)]
    theirs = tmp_path / "theirs"
    with tf.io.TFRecordWriter(str(theirs)) as writer:
        for data in datas:
            writer.write(data)

    ours = b"".join(records.frame_record(data) for data in datas)

    assert ours == theirs.read_bytes()
