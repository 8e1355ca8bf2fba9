"""One batch on several devices: sums over all of it, gradients once each.

A device holds some rows of a batch. What is summed over targets must be summed
over all devices, and each shared weight's gradient should cross the network
once, not once per call of the layer:

    tensorflow   a replica context, which `tf.distribute` opens
    jax          `on_own_rows`, which maps a step over the rows of each device
    torch        one device
"""

import contextlib
import contextvars

import keras

from keras_albert.layers.dropout import dropout_source

_AXIS = contextvars.ContextVar("keras_albert_row_axis", default=None)
# Far from the small steps by which Keras moves a seed on.
_REPLICA_STRIDE = 0x3C6EF372


def total_over_devices(x):
    """Returns the sum of `x` over all devices that share the batch.

    Args:
        x: scalar tensor.

    Returns:
        Scalar tensor: `x` itself where one device holds the whole batch.
    """
    if (context := replica_context()) is not None:
        return context.all_reduce("SUM", x)
    if _AXIS.get() is not None:
        import jax

        return jax.lax.psum(x, _AXIS.get())
    return x


def whole_loss(part):
    """Returns the loss of the batch from that of a device's own rows.

    Args:
        part: scalar tensor: a device's summand of the loss.

    Returns:
        Scalar tensor. TensorFlow's trainer sums gradients and logs itself, so
        that there the summand is returned as it is.
    """
    if keras.backend.backend() == "jax":
        return total_over_devices(part)
    return part


def rows_are_split():
    """Whether a JAX distribution spreads the rows of a batch over devices."""
    if keras.backend.backend() != "jax":
        return False
    distribution = keras.distribution.distribution()
    return distribution is not None and distribution.num_model_replicas > 1


def on_own_rows(step, whole, rows):
    """Returns `step(*whole, *rows)`, each device working on its own rows.

    The compiler, left alone, sums the gradient of a shared layer over the
    devices after each of its calls. Here each device adds up all calls first,
    and the sum over the devices comes once, where the weights enter.

    Args:
        step: function that returns `(loss, (loss, outputs, *variables))`,
            with the loss of the whole batch; see `whole_loss`.
        whole: tuple of trees of arrays that every device has: variables.
        rows: tuple of trees of arrays whose first axis is the batch.

    Returns:
        What `step` returns for the whole batch.
    """
    import jax
    from jax.sharding import PartitionSpec

    distribution = keras.distribution.distribution()
    axis = distribution.batch_dim_name
    everywhere, split = PartitionSpec(), PartitionSpec(axis)

    def own_step(*arguments):
        token = _AXIS.set(axis)
        try:
            with dropout_source(_rows_of_global_uniform):
                return step(*arguments)
        finally:
            _AXIS.reset(token)

    return jax.shard_map(
        own_step,
        mesh=distribution.device_mesh.backend_mesh,
        in_specs=(everywhere,) * len(whole) + (split,) * len(rows),
        out_specs=(everywhere, (everywhere, split, everywhere, everywhere)),
        # Other axes, if any, split weights; those stay with the compiler.
        axis_names={axis},
        # Checked, JAX would sum each use of a weight on its own again.
        check_vma=False,
    )(*whole, *rows)


def on_every_process(outputs):
    """Returns outputs of a JAX step that every process has in full.

    Args:
        outputs: tree of arrays, which may lie on devices of other processes.
    """
    import jax

    distribution = keras.distribution.distribution()
    if distribution is None or jax.process_count() == 1:
        return outputs
    mesh = distribution.device_mesh.backend_mesh
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    return keras.tree.map_structure(
        lambda x: jax.lax.with_sharding_constraint(x, everywhere), outputs
    )


@contextlib.contextmanager
def replica_dropout():
    """Gives each replica of `tf.distribute` dropout masks of its own.

    Keras's seeds are equal in all replicas; the replica's number moves them
    apart. Changes nothing outside a replica context.
    """
    context = replica_context()
    if context is None:
        yield
        return
    import tensorflow as tf

    shift = tf.cast(context.replica_id_in_sync_group, tf.int32)

    def uniform(shape, seed):
        seed = tf.cast(seed, tf.int32) + tf.stack([shift * _REPLICA_STRIDE, 0])
        return tf.random.stateless_uniform(shape, seed, alg="philox")

    with dropout_source(uniform):
        yield


def replica_context():
    """Returns `tf.distribute`'s replica context where there are several.

    Returns:
        `tf.distribute.ReplicaContext`; `None` on one device, outside of a
        replica, and on other backends.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    return context


def _rows_of_global_uniform(shape, seed):
    """Draws a device's rows of what `jax.random.uniform` draws for all.

    Threefry numbers each value by its place in the array. Counting from the
    device's first row on, N devices drop what one device would drop.
    """
    import jax
    import jax.numpy as jnp
    from jax.extend.random import threefry2x32_p

    size = 1
    for length in shape:
        size *= length
    first = jax.lax.axis_index(_AXIS.get()).astype(jnp.uint32)
    place = jax.lax.iota(jnp.uint32, size)
    place = (first * jnp.uint32(size) + place).reshape(shape)
    high, low = threefry2x32_p.bind(
        seed[0], seed[1], jnp.zeros_like(place), place
    )
    # 23 random bits behind the exponent of 1.0 are uniform in [1, 2).
    bits = (high ^ low) >> 9 | jnp.uint32(0x3F800000)
    return jax.lax.bitcast_convert_type(bits, jnp.float32) - 1.0
