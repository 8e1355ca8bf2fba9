import keras
import numpy as np
import pytest

from keras_albert.export.weight_arrays import encoder_blocks
from keras_albert.export.weight_arrays import float_array
from keras_albert.export.weight_arrays import query_key_value
from keras_albert.models.backbone import AlbertBackbone
from tests.export.tiny_classifiers import with_random_weights


def backbone(**options):
    sizes = {"num_heads": 2, "embedding_dim": 5, "hidden_dim": 8}
    return AlbertBackbone(11, intermediate_dim=13, **sizes, **options)


@pytest.mark.parametrize(
    "options, calls",
    [
        ({}, ((0, 0), (0, 0), (0, 0))),
        ({"sharing": "attention"}, ((0, 0), (0, 1), (0, 2))),
        ({"sharing": "ffn"}, ((0, 0), (1, 0), (2, 0))),
        ({"sharing": "none"}, ((0, 0), (1, 1), (2, 2))),
        (
            {"num_groups": 2, "num_inner_repetitions": 2},
            ((0, 0), (1, 1), (0, 0), (1, 1), (2, 2), (3, 3)),
        ),
    ],
    ids=str,
)
def test_calls_of_every_policy(options, calls):
    blocks = encoder_blocks(backbone(num_layers=3, **options))

    assert blocks.calls == calls
    for place, parts in enumerate((blocks.attentions, blocks.feed_forwards)):
        assert len(parts) == 1 + max(call[place] for call in calls)
        assert len({id(part) for part in parts}) == len(parts)


def test_as_many_calls_as_are_active():
    model = backbone(num_layers=3)
    model.encoder.active_layers = 2

    assert encoder_blocks(model).calls == ((0, 0), (0, 0))


def test_query_key_and_value_are_joined_and_scaled():
    model = with_random_weights(backbone(num_layers=1))
    (block,) = encoder_blocks(model).attentions
    rows = np.random.default_rng(1).normal(size=(4, 8)).astype("float32")

    kernel, bias = query_key_value(block)

    # Two heads of four: the scale is a half.
    want = [0.5 * block.query(rows), block.key(rows), block.value(rows)]
    np.testing.assert_allclose(
        rows @ kernel + bias, np.concatenate(want, 1), atol=1e-5
    )
    assert kernel.dtype == bias.dtype == np.float32


@pytest.mark.every_backend
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_variables_of_any_backend(dtype):
    variable = keras.Variable(np.array([1.5, -2.0]), dtype=dtype)

    found = float_array(variable)

    assert found.dtype == np.float32
    assert found.tolist() == [1.5, -2.0]
