"""The factorized embedding against NumPy."""

import numpy as np
import pytest

from keras_albert.layers import FactorizedEmbedding
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

TOKENS = np.array([[1, 4, 2, 10, 0], [3, 3, 7, 0, 0]], dtype="int32")
SEGMENTS = np.array([[0, 0, 1, 1, 0], [0, 1, 1, 0, 0]], dtype="int32")


def make(embedding_dim=3, hidden_dim=8, **keywords):
    layer = FactorizedEmbedding(
        11, embedding_dim, hidden_dim, max_sequence_length=7, **keywords
    )
    layer(TOKENS, segment_ids=SEGMENTS)
    randomize(layer)
    return layer


def test_is_a_proper_layer():
    check_layer(make(), [TOKENS], {"segment_ids": SEGMENTS}, num_weights=7)


def test_output_is_the_normalised_sum_projected():
    layer = make()

    output = to_numpy(layer(TOKENS, segment_ids=SEGMENTS))

    tokens, segments, positions = (
        np.float64(to_numpy(v.value))
        for v in (
            layer.token_embedding.embeddings,
            layer.segment_embedding.embeddings,
            layer.position_embedding,
        )
    )
    summed = tokens[TOKENS] + segments[SEGMENTS] + positions[None, :5]
    normalised = numpy_albert.layer_norm(
        summed,
        to_numpy(layer.layer_norm.gamma.value),
        to_numpy(layer.layer_norm.beta.value),
    )
    expected = normalised @ to_numpy(layer.projection.kernel.value) + to_numpy(
        layer.projection.bias.value
    )
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_projection_exists_where_widths_differ_or_when_asked():
    assert make(3, 8).projection is not None
    assert make(8, 8).projection is None
    assert make(8, 8, use_projection=True).projection is not None


def test_dropout_is_active_in_training_alone():
    layer = make(dropout=0.5)

    outputs = [
        to_numpy(layer(TOKENS, segment_ids=SEGMENTS, training=training))
        for training in (False, False, True)
    ]

    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert np.abs(outputs[0] - outputs[2]).max() > 0.1


def test_too_long_a_sequence_names_both_lengths():
    ids = np.zeros((1, 8), dtype="int32")

    with pytest.raises(ValueError, match="length 8, expected at most.*=7"):
        make()(ids, segment_ids=ids)


def test_projection_cannot_be_left_out_where_widths_differ():
    with pytest.raises(ValueError, match="embedding_dim=3, hidden_dim=8"):
        make(3, 8, use_projection=False)
