import types

import tensorflow as tf

from keras_albert.data.pair_layout import pair_layout

IDS = types.SimpleNamespace(cls_token_id=1, sep_token_id=2, pad_token_id=9)


def layout(first, second, length=10):
    return pair_layout(tf.constant(first), tf.constant(second), length)


def test_places_of_a_pair_and_of_a_single_segment():
    found = layout([3, 4, 0], [2, 0, 0])

    kinds = tf.where(found.in_first, "A", tf.where(found.in_second, "B", "."))
    rows = tf.strings.reduce_join(kinds, axis=1).numpy().tolist()
    assert rows == [b".AAA.BB...", b".AAAA.....", b".........."]
    assert found.num_tokens[:, 0].numpy().tolist() == [8, 6, 2]


def test_special_tokens_go_around_the_text():
    text = tf.broadcast_to(tf.range(10, 20), (3, 10))

    packed = layout([3, 4, 0], [2, 0, 0]).pack(text, IDS)

    assert packed["token_ids"].numpy().tolist() == [
        [1, 11, 12, 13, 2, 15, 16, 2, 9, 9],
        [1, 11, 12, 13, 14, 2, 9, 9, 9, 9],
        [1, 2, 9, 9, 9, 9, 9, 9, 9, 9],
    ]
    assert packed["segment_ids"].numpy().tolist() == [
        [0, 0, 0, 0, 0, 1, 1, 1, 0, 0],
        [0] * 10,
        [0] * 10,
    ]
    assert packed["padding_mask"].numpy().tolist() == [
        [1] * 8 + [0] * 2,
        [1] * 6 + [0] * 4,
        [1] * 2 + [0] * 8,
    ]


def test_a_pair_may_fill_the_sequence():
    packed = layout([4], [3]).pack(tf.zeros((1, 10), tf.int32), IDS)

    assert packed["token_ids"].numpy().tolist() == [
        [1, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    ]


def test_sources_count_from_where_each_segment_begins():
    start = (
        tf.constant([2**40, 7, 0], tf.int64),
        tf.constant([50, 0, 0], tf.int64),
    )

    sources = layout([3, 4, 0], [2, 0, 0]).sources(*start)

    assert sources.dtype == tf.int64
    assert sources.numpy().tolist() == [
        [0, 2**40, 2**40 + 1, 2**40 + 2, 0, 50, 51, 0, 0, 0],
        [0, 7, 8, 9, 10, 0, 0, 0, 0, 0],
        [0] * 10,
    ]
