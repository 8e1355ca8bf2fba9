"""The encoder's graph against the Keras backbone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.served_encoder import ServedEncoder
from keras_albert.models.backbone import AlbertBackbone
from tests.export.tiny_classifiers import with_random_weights

SIZE = {
    "vocabulary_size": 11,
    "num_layers": 4,
    "num_heads": 2,
    "embedding_dim": 5,
    "hidden_dim": 8,
    "intermediate_dim": 13,
    "max_sequence_length": 9,
}
RNG = np.random.default_rng(3)
TOKEN_IDS = RNG.integers(0, 11, (3, 7)).astype("int32")
SEGMENT_IDS = RNG.integers(0, 2, (3, 7)).astype("int32")
PADDING_MASK = np.array(
    [[1] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1, 0]], "int32"
)
INPUTS = (TOKEN_IDS, SEGMENT_IDS, PADDING_MASK)


def backbone(scale=0.5, **options):
    return with_random_weights(AlbertBackbone(**{**SIZE, **options}), scale)


def run(encoder, *inputs):
    hidden = encoder(*map(tf.constant, inputs or INPUTS))
    return hidden.numpy(), encoder.pooled(hidden).numpy()


def expected(model):
    names = ("token_ids", "segment_ids", "padding_mask")
    outputs = model(dict(zip(names, INPUTS, strict=True)))
    return [
        keras.ops.convert_to_numpy(outputs[name])
        for name in ("sequence_output", "pooled_output")
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sharing": "none", "activation": "gelu_erf"},
        {"sharing": "attention", "activation": "relu"},
        {"sharing": "ffn", "activation": "silu"},
        {"num_groups": 2, "num_inner_repetitions": 2, "activation": "tanh"},
        {"embedding_dim": 8},
        {"num_segments": 3, "layer_norm_epsilon": 1e-3, "num_heads": 8},
        {"unroll": False},
    ],
    ids=str,
)
def test_every_policy_gives_the_numbers_of_keras(options):
    model = backbone(**options)

    found = run(ServedEncoder(model))

    for got, want in zip(found, expected(model), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_each_weight_is_held_once():
    model = backbone(sharing="attention")
    encoder = ServedEncoder(model)

    assert (
        sum(v.shape.num_elements() for v in encoder.variables)
        == model.count_params()
    )


def test_as_many_calls_as_are_active():
    model = backbone()
    model.encoder.active_layers = 2

    (found, _) = run(ServedEncoder(model))

    np.testing.assert_allclose(found, expected(model)[0], atol=1e-5)


def test_padding_changes_nothing():
    encoder = ServedEncoder(backbone())
    other = np.where(PADDING_MASK > 0, TOKEN_IDS, (TOKEN_IDS + 1) % 11)

    found, _ = run(encoder)
    changed, _ = run(encoder, other.astype("int32"), SEGMENT_IDS, PADDING_MASK)

    real = PADDING_MASK > 0
    np.testing.assert_array_equal(found[real], changed[real])


def test_a_row_without_tokens_is_finite():
    found, pooled = run(
        ServedEncoder(backbone()), TOKEN_IDS, SEGMENT_IDS, PADDING_MASK * 0
    )

    assert np.isfinite(found).all()
    assert np.isfinite(pooled).all()


def test_half_precision_holds_half_the_bytes_and_answers_in_float32():
    model = backbone(scale=0.3)
    encoder = ServedEncoder(model, "bfloat16")

    found, pooled = run(encoder)

    assert {v.dtype for v in encoder.variables} == {tf.bfloat16}
    assert found.dtype == pooled.dtype == np.float32
    difference = np.abs(found - expected(model)[0])
    assert 0 < difference.mean() < 0.02


def test_query_key_and_value_are_one_product():
    graph = tf.function(ServedEncoder(backbone())).get_concrete_function(
        *(tf.TensorSpec([None, None], tf.int32) for _ in range(3))
    )

    products = [n for n in graph.graph.as_graph_def().node if n.op == "MatMul"]

    # Four a layer call: joined, attention's output, in and out of the block;
    # and the projection.
    assert len(products) == 4 * SIZE["num_layers"] + 1
