"""Edge cases; whole datasets are judged in `test_shard_reading`."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import graph_segments
from keras_albert.data.counter_random import derive_key
from tests.data import segment_reference as reference

LONGEST = 150


def record(chunk):
    feature = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        for name, values in (
            ("token_ids", chunk["ids"]),
            ("sentence_lengths", chunk["lengths"]),
        )
    }
    packed = np.packbits(chunk["starts"], bitorder="little").tobytes()
    feature["word_starts"] = tf.train.Feature(
        bytes_list=tf.train.BytesList(value=[packed])
    )
    return tf.train.Example(
        features=tf.train.Features(feature=feature)
    ).SerializeToString()


def chunk(*lengths, starts=None, first_id=10):
    number = sum(lengths)
    return {
        "ids": list(range(first_id, first_id + number)),
        "lengths": list(lengths),
        "starts": [1] * number if starts is None else starts,
    }


def pairs(chunks, num_keys=200, max_tokens=20, share=0.5):
    """Each chunk with many keys, by the graph; tokens looked up."""
    keys = derive_key(4, np.arange(num_keys * len(chunks)))
    rows = [item for item in chunks for _ in range(num_keys)]
    parsed = graph_segments.parse_chunks(
        tf.constant([record(row) for row in rows]), LONGEST
    )
    found = graph_segments.segment_pairs(
        parsed,
        tf.constant(keys),
        max_tokens=max_tokens,
        max_chunk_tokens=LONGEST,
        swap_probability=share,
    )
    result = []
    for i, row in enumerate(rows):
        segments = [
            row["ids"][int(s.start[i]) : int(s.start[i]) + int(s.length[i])]
            for s in (found.first, found.second)
        ]
        label = int(found.sentence_order[i])
        result.append((*segments, label, float(found.sentence_order_weight[i])))
    return rows, keys, result


@pytest.mark.parametrize("max_tokens", [5, 20, 21])
def test_pairs_equal_the_plain_loop(max_tokens):
    random = np.random.default_rng(1)
    chunks = [
        chunk(3, 4),
        chunk(1, 1, 1),
        chunk(70, 70),
        chunk(9, starts=(random.random(9) < 0.5).tolist()),
        chunk(99, starts=(random.random(99) < 0.2).tolist()),
    ]

    rows, keys, found = pairs(chunks, max_tokens=max_tokens)

    for row, key, pair in zip(rows, keys, found, strict=True):
        first, second, *label = reference.pair(row, key, max_tokens)
        expected = [i for i, _ in first], [i for i, _ in second], *label
        assert pair == expected


def test_a_single_word_has_no_pair():
    words = [
        chunk(1),
        chunk(4, starts=[1, 0, 0, 0]),
        chunk(17, starts=[0] * 17),
    ]

    rows, _, found = pairs(words, num_keys=20, share=1.0)

    for row, pair in zip(rows, found, strict=True):
        assert pair == (row["ids"], [], 0, 0.0)


def test_splits_are_even_over_borders_and_word_starts():
    starts = [0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1]
    sentences = chunk(2, 3, 1, 4)
    word_starts = chunk(11, starts=starts)

    _, _, found = pairs([sentences, word_starts], num_keys=3000, share=0.0)

    for part, places in (
        (found[:3000], [2, 5, 6]),
        (found[3000:], [1, 3, 9, 10]),
    ):
        lengths, counts = np.unique(
            [len(pair[0]) for pair in part], return_counts=True
        )
        assert lengths.tolist() == places
        share = 1 / len(places)
        np.testing.assert_allclose(
            counts / 3000, share, atol=4 * (share * (1 - share) / 3000) ** 0.5
        )


def test_an_empty_record_is_an_empty_chunk():
    parsed = graph_segments.parse_chunks(tf.constant(["", ""]), LONGEST)

    assert parsed.num_tokens.numpy().tolist() == [0, 0]
    assert parsed.num_sentences.numpy().tolist() == [0, 0]
    for make in (graph_segments.segment_pairs, graph_segments.single_segments):
        more = {"swap_probability": 1.0}
        found = make(
            parsed,
            tf.constant(derive_key(1, np.arange(2))),
            max_tokens=9,
            max_chunk_tokens=LONGEST,
            **(more if make is graph_segments.segment_pairs else {}),
        )
        assert found.first.length.numpy().tolist() == [0, 0]
        assert found.second.length.numpy().tolist() == [0, 0]
        assert found.sentence_order_weight.numpy().tolist() == [0, 0]
