"""keras-hub's own AlbertBackbone with the same weights, side by side."""

import keras_hub
import numpy as np
import pytest

from keras_albert.models import AlbertBackbone
from tests.checks import randomize
from tests.checks import to_numpy

pytestmark = pytest.mark.every_backend

SIZES = {
    "vocabulary_size": 31,
    "num_layers": 4,
    "num_heads": 3,
    "embedding_dim": 7,
    "hidden_dim": 24,
    "intermediate_dim": 37,
    "max_sequence_length": 17,
}


def copy_to_keras_hub(ours, theirs):
    embeddings = ours.embeddings
    theirs.token_embedding.set_weights(embeddings.token_embedding.get_weights())
    theirs.position_embedding.set_weights(
        [to_numpy(embeddings.position_embedding.value)]
    )
    theirs.segment_embedding.set_weights(
        embeddings.segment_embedding.get_weights()
    )
    theirs.embeddings_layer_norm.set_weights(
        embeddings.layer_norm.get_weights()
    )
    theirs.embeddings_projection.set_weights(
        embeddings.projection.get_weights()
    )
    theirs.pooled_dense.set_weights(ours.pooler.get_weights())
    layers = [layer for group in theirs.transformer_layers for layer in group]
    for mine, other in zip(
        ours.encoder.transformer_layers, layers, strict=True
    ):
        copy_layer(mine, other, ours.num_heads)


def copy_layer(ours, theirs, num_heads):
    attention, feed_forward = ours.self_attention, ours.feed_forward
    inner = theirs._self_attention_layer
    for mine, other in [
        (attention.query, inner.query_dense),
        (attention.key, inner.key_dense),
        (attention.value, inner.value_dense),
    ]:
        kernel, bias = mine.get_weights()
        other.set_weights(
            [
                kernel.reshape(len(kernel), num_heads, -1),
                bias.reshape(num_heads, -1),
            ]
        )
    kernel, bias = attention.attention_output.get_weights()
    inner.output_dense.set_weights(
        [kernel.reshape(num_heads, -1, len(kernel)), bias]
    )
    for mine, other in [
        (attention.layer_norm, theirs._self_attention_layer_norm),
        (feed_forward.intermediate, theirs._feedforward_intermediate_dense),
        (feed_forward.feed_forward_output, theirs._feedforward_output_dense),
        (feed_forward.layer_norm, theirs._feedforward_layer_norm),
    ]:
        other.set_weights(mine.get_weights())


@pytest.mark.parametrize(
    "groups",
    [
        {},
        {"num_groups": 2},
        {"num_groups": 2, "num_inner_repetitions": 2},
    ],
)
def test_outputs_equal_keras_hubs(groups):
    ours = AlbertBackbone(**SIZES, **groups)
    randomize(ours)
    theirs = keras_hub.models.AlbertBackbone(**SIZES, **groups)
    copy_to_keras_hub(ours, theirs)
    generator = np.random.default_rng(4)
    inputs = {
        "token_ids": generator.integers(0, 31, (2, 11)).astype("int32"),
        "segment_ids": generator.integers(0, 2, (2, 11)).astype("int32"),
        "padding_mask": np.ones((2, 11), "int32"),
    }
    inputs["padding_mask"][1, 6:] = 0

    outputs, expected = to_numpy(ours(inputs)), to_numpy(theirs(inputs))

    for key in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(
            outputs[key], expected[key], rtol=0, atol=1e-5
        )
    assert ours.count_params() == theirs.count_params()
