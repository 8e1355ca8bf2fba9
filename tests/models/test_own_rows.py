"""Rows of a batch on several devices; whole steps are in test_distribution."""

import keras
import numpy as np
import pytest

from keras_albert.models import own_rows

every_backend = pytest.mark.every_backend


@every_backend
def test_one_device_has_the_total_already():
    x = keras.ops.convert_to_tensor(3.0)

    assert float(own_rows.total_over_devices(x)) == 3.0
    assert float(own_rows.whole_loss(x)) == 3.0
    assert not own_rows.rows_are_split()


@every_backend
def test_devices_draw_their_rows_of_what_one_device_draws():
    if keras.backend.backend() != "jax":
        pytest.skip("only JAX gives each device the rows of one drawing")
    import jax
    from jax.sharding import PartitionSpec

    seed = jax.numpy.array([7, 5], "uint32")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
    token = own_rows._AXIS.set("batch")
    try:
        drawn = jax.shard_map(
            lambda: own_rows._rows_of_global_uniform((6, 3), seed),
            mesh=mesh,
            in_specs=(),
            out_specs=PartitionSpec("batch"),
        )()
    finally:
        own_rows._AXIS.reset(token)

    np.testing.assert_array_equal(drawn, jax.random.uniform(seed, (6, 3)))


def test_replicas_of_tensorflow_drop_otherwise():
    """Outside of replicas nothing changes; inside see test_distribution."""
    from keras_albert.layers.dropout import Dropout

    x = np.ones((4, 4), "float32")
    with own_rows.replica_dropout():
        inside = Dropout(0.5, seed=2)(x, training=True)

    outside = Dropout(0.5, seed=2)(x, training=True)
    np.testing.assert_array_equal(inside, outside)
