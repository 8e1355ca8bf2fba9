"""Packing, judged by keras-hub's packer and by rows written out by hand."""

import numpy as np
import pytest
import tensorflow as tf
from keras_hub.layers import MultiSegmentPacker

from keras_albert.tokenizers.packing import pack_segments
from keras_albert.tokenizers.packing import pack_segments_python

SPECIAL = {"cls_token_id": 2, "sep_token_id": 3, "pad_token_id": 0}


def random_segments(num_segments, rows=60, longest=14, seed=3):
    rng = np.random.default_rng(seed)
    return [
        [
            rng.integers(5, 90, rng.integers(0, longest)).tolist()
            for _ in range(rows)
        ]
        for _ in range(num_segments)
    ]


def as_ragged(rows):
    return tf.ragged.constant(rows, dtype="int32", ragged_rank=1)


def pack_in_graph(segments, **options):
    @tf.function
    def pack(*ragged):
        return pack_segments(list(ragged), **SPECIAL, **options)

    return [out.numpy() for out in pack(*map(as_ragged, segments))]


@pytest.mark.parametrize("sequence_length", [3, 4, 5, 10, 11, 17, 40])
@pytest.mark.parametrize("num_segments", [1, 2])
@pytest.mark.parametrize("truncate", ["round_robin", "waterfall"])
def test_equals_the_keras_hub_packer(num_segments, sequence_length, truncate):
    segments = random_segments(num_segments)
    packer = MultiSegmentPacker(
        sequence_length,
        start_value=2,
        end_value=3,
        pad_value=0,
        truncate=truncate,
    )
    expected_ids, expected_segments = map(np.asarray, packer(tuple(segments)))
    options = {"sequence_length": sequence_length, "truncate": truncate}

    in_graph = pack_in_graph(segments, **options)
    in_python = pack_segments_python(segments, **SPECIAL, **options)

    for token_ids, segment_ids, padding_mask in (in_graph, in_python):
        np.testing.assert_array_equal(token_ids, expected_ids)
        np.testing.assert_array_equal(segment_ids, expected_segments)
        np.testing.assert_array_equal(padding_mask, expected_ids != 0)
        assert {
            a.dtype.name for a in (token_ids, segment_ids, padding_mask)
        } == {"int32"}


def test_row_written_out():
    token_ids, segment_ids, padding_mask = pack_in_graph(
        [[[11, 12, 13, 14]], [[21, 22, 23]]], sequence_length=8
    )

    assert token_ids.tolist() == [[2, 11, 12, 13, 3, 21, 22, 3]]
    assert segment_ids.tolist() == [[0, 0, 0, 0, 0, 1, 1, 1]]
    assert padding_mask.tolist() == [[1] * 8]


def test_a_token_with_the_pad_id_is_not_padding():
    options = {**SPECIAL, "sequence_length": 6}

    _, _, in_graph = pack_segments([as_ragged([[0, 7]])], **options)
    _, _, in_python = pack_segments_python([[[0, 7]]], **options)

    assert in_graph.numpy().tolist() == [[1, 1, 1, 1, 0, 0]]
    assert in_python.tolist() == [[1, 1, 1, 1, 0, 0]]


@pytest.mark.parametrize(
    "length_multiple, width", [(1, 7), (4, 8), (8, 8), (16, 12)]
)
def test_pads_to_the_longest_row(length_multiple, width):
    segments = [[[5, 6, 7], []], [[8], []]]
    wide = pack_in_graph(segments, sequence_length=12)

    narrow = pack_in_graph(
        segments,
        sequence_length=12,
        pad_to_longest=True,
        length_multiple=length_multiple,
    )

    for have, want in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(have, want[:, :width])


@pytest.mark.parametrize(
    "num_segments, pad_to_longest, width",
    [(1, False, 9), (2, False, 9), (1, True, 2), (2, True, 3)],
)
def test_empty_batch(num_segments, pad_to_longest, width):
    nothing = tf.RaggedTensor.from_row_lengths(tf.zeros([0], "int32"), [])

    outputs = pack_segments(
        [nothing] * num_segments,
        **SPECIAL,
        sequence_length=9,
        pad_to_longest=pad_to_longest,
    )

    assert [tuple(out.shape) for out in outputs] == [(0, width)] * 3


def test_empty_batch_in_python():
    outputs = pack_segments_python([[], []], **SPECIAL, sequence_length=9)

    assert [out.shape for out in outputs] == [(0, 9)] * 3


def test_keeps_the_static_length_inside_a_dataset():
    dataset = tf.data.Dataset.from_tensors(as_ragged([[5, 6]])).map(
        lambda rows: pack_segments([rows], **SPECIAL, sequence_length=9)
    )

    assert [spec.shape[1] for spec in dataset.element_spec] == [9, 9, 9]


def test_uses_core_operations_alone():
    function = tf.function(
        lambda a, b: pack_segments([a, b], **SPECIAL, sequence_length=9)
    ).get_concrete_function(*[tf.RaggedTensorSpec([None, None], tf.int32)] * 2)
    names = {op.type for op in function.graph.get_operations()}

    assert not {n for n in names if "RoundRobin" in n or "TFText" in n}


@pytest.mark.parametrize("pack", [pack_segments, pack_segments_python])
@pytest.mark.parametrize(
    "num_segments, options, message",
    [
        (3, {"sequence_length": 9}, "one or two segments, not 3"),
        (2, {"sequence_length": 2}, "at least 3 to hold the special"),
        (1, {"sequence_length": 9, "truncate": "left"}, "truncate='left'"),
    ],
)
def test_bad_arguments(pack, num_segments, options, message):
    with pytest.raises(ValueError, match=message):
        pack([as_ragged([[5]])] * num_segments, **SPECIAL, **options)
