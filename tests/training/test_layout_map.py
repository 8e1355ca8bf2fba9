import keras
import pytest

from keras_albert.training.layout_map import AlbertModelParallel
from keras_albert.training.layout_map import weight_axes

BLOCK = "encoder/transformer_layer_0/"


@pytest.mark.parametrize(
    "path, shape, axes",
    [
        ("self_attention_0/query/kernel", (8, 8), (None, "model")),
        ("self_attention_12/value/bias", (8,), ("model",)),
        ("self_attention_0/attention_output/kernel", (8, 8), ("model", None)),
        ("self_attention_0/attention_output/bias", (8,), (None,)),
        ("feed_forward_0/intermediate/kernel", (8, 12), (None, "model")),
        ("feed_forward_0/intermediate/bias", (12,), ("model",)),
        ("feed_forward_0/feed_forward_output/kernel", (12, 8), ("model", None)),
        ("feed_forward_0/feed_forward_output/bias", (8,), (None,)),
        ("self_attention_0/layer_norm/gamma", (8,), (None,)),
    ],
)
def test_blocks_are_split_between_two_sums(path, shape, axes):
    assert weight_axes(BLOCK + path, shape, 4) == axes


def test_the_vocabulary_is_split_where_it_divides():
    table = "embeddings/token_embedding/embeddings"
    bias = "masked_lm_head/output_bias"

    assert weight_axes(table, (12, 8), 4) == ("model", None)
    assert weight_axes(table, (13, 8), 4) == (None, None)
    assert weight_axes(bias, (12,), 4) == ("model",)
    assert weight_axes("embeddings/position_embedding", (12, 8), 4) == (
        None,
        None,
    )


@pytest.mark.every_backend
def test_keras_takes_the_layout():
    if keras.backend.backend() != "jax":
        pytest.skip("models are parallel on JAX alone")
    mesh = keras.distribution.DeviceMesh((1, 1), ("batch", "model"))
    with AlbertModelParallel(mesh).scope():
        layer = keras.layers.Dense(4, name="query")
        layer.build((None, 3))

    assert layer.kernel._layout.axes == (None, None)
    assert AlbertModelParallel(mesh).num_model_replicas == 1
