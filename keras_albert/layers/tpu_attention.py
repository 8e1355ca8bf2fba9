"""Attention as one kernel on TPUs, with JAX.

Compiled from single operations, each layer call writes its `(heads, length,
length)` scores to memory and reads them again, several times and in float32;
on a TPU that takes longer than all its arithmetic. Here they never leave the
core: a program of the kernel holds some heads of one example, whole rows.

    forward    query, key, value            ->  output
    backward   query, key, value, gradient  ->  three gradients

Nothing else is kept in between. Arrays stay `(batch_size, length, hidden)`,
as the dense layers make and take them, so that nothing is transposed.

    which machine   the process's own TPU, or the one that `compiling_for_tpu`
                    names: a program may be compiled where there is none
    which devices   those of `keras.distribution`; the compiler does not divide
                    a kernel, so that each device is given its examples
"""

import contextlib
import contextvars
import functools

import keras

# A vector register is 128 numbers wide.
LANES = 128
# Four square float32 matrices of this length fit in a core's own memory.
MAX_LENGTH = 512
# The lowest finite float32, not minus infinity: a row of minus infinities has
# no softmax.
LOWEST = -3.4028235e38

_target_is_tpu = contextvars.ContextVar("target_is_tpu", default=False)


@contextlib.contextmanager
def compiling_for_tpu():
    """Within it, JAX functions are traced for a TPU, whatever is attached.

    Example:

    ```python
    with compiling_for_tpu():
        lowered = jax.jit(step).lower(*shapes)
    ```
    """
    token = _target_is_tpu.set(True)
    try:
        yield
    finally:
        _target_is_tpu.reset(token)


def has_tpu_kernel(length, num_heads, head_dim):
    """Whether `tpu_attention` is to be used here, for these shapes.

    Args:
        length: int or `None`, unknown.
        num_heads: int.
        head_dim: int.
    """
    return (
        keras.backend.backend() == "jax"
        and is_tpu()
        and fits_tpu_kernel(length, num_heads, head_dim)
        and _divides_batch_only()
    )


def fits_tpu_kernel(length, num_heads, head_dim):
    """Whether `tpu_attention` has room for these shapes, on a TPU.

    Args: as `has_tpu_kernel`.

    Example:

    >>> fits_tpu_kernel(512, num_heads=12, head_dim=64)
    True
    >>> fits_tpu_kernel(100, num_heads=12, head_dim=64)
    False
    """
    if length is None or length > MAX_LENGTH or length % LANES:
        return False
    width = _width(head_dim)
    return width % head_dim == 0 and num_heads * head_dim % width == 0


def is_tpu():
    """Whether JAX computes on TPUs, or compiles for them."""
    import jax

    return _target_is_tpu.get() or jax.default_backend() == "tpu"


def _width(head_dim):
    """Hidden units of one program: a register's, or one wide head's."""
    return max(LANES, head_dim)


def _divides_batch_only():
    distribution = keras.distribution.distribution()
    return distribution is None or isinstance(
        distribution, keras.distribution.DataParallel
    )


def tpu_attention(query, key, value, padding_mask, head_dim, interpret=False):
    """Returns `softmax(query key^T / sqrt(D)) value`, heads side by side.

    Scores and softmax are in float32. Masked positions get a weight of zero; a
    row with nothing but masked positions attends to all of them equally.

    Args:
        query: float array of shape `(batch_size, length, heads * head_dim)`.
        key, value: float arrays of the same shape.
        padding_mask: array of shape `(batch_size, length)`, 1 (true) at real
            tokens; or `None`.
        head_dim: int. D, units of a head.
        interpret: bool. Run the kernel as JAX operations, on any machine.
            Defaults to `False`.

    Returns:
        Array of the shape and dtype of `query`.
    """
    import jax.numpy as jnp

    if padding_mask is None:
        padding_mask = jnp.ones(query.shape[:2], "int32")
    # (B, S) -> (B, 1, S): a block of it is one row.
    padding_mask = padding_mask.astype("int32")[:, None]
    attention = _on_each_device(_attention(head_dim, interpret))
    return attention(query, key, value, padding_mask)


def _on_each_device(function):
    import jax

    distribution = keras.distribution.distribution()
    # A training step may be on a device's own rows already.
    if distribution is None or jax.sharding.get_abstract_mesh().manual_axes:
        return function
    batch = jax.sharding.PartitionSpec(distribution.batch_dim_name)
    return jax.shard_map(
        function,
        mesh=distribution.device_mesh.backend_mesh,
        in_specs=batch,
        out_specs=batch,
        check_vma=False,
    )


@functools.cache
def _attention(head_dim, interpret):
    import jax

    def run(kernel, num_products, arrays, padding_mask, num_outputs):
        return _call(
            functools.partial(kernel, head_dim=head_dim),
            num_products,
            arrays,
            padding_mask,
            num_outputs,
            head_dim,
            interpret,
        )

    def forward(query, key, value, padding_mask):
        arrays = query, key, value
        (output,) = run(_forward_kernel, 2, arrays, padding_mask, 1)
        return output, (arrays, padding_mask)

    def backward(kept, gradient):
        arrays, padding_mask = kept
        arrays = *arrays, gradient
        return *run(_backward_kernel, 5, arrays, padding_mask, 3), None

    attention = jax.custom_vjp(lambda *inputs: forward(*inputs)[0])
    attention.defvjp(forward, backward)
    return attention


def _call(
    kernel, num_products, arrays, padding_mask, num_outputs, head_dim, interpret
):
    import jax
    from jax.experimental import pallas
    from jax.experimental.pallas import tpu

    batch_size, length, hidden_dim = arrays[0].shape
    width = _width(head_dim)
    block = pallas.BlockSpec((1, length, width), lambda b, h: (b, 0, h))
    row = pallas.BlockSpec((1, 1, length), lambda b, h: (b, 0, 0))
    size = arrays[0].size
    return pallas.pallas_call(
        kernel,
        grid=(batch_size, hidden_dim // width),
        in_specs=[row, *(block for _ in arrays)],
        out_specs=[block] * num_outputs,
        out_shape=[
            jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
            for _ in range(num_outputs)
        ],
        compiler_params=tpu.CompilerParams(
            dimension_semantics=("parallel", "parallel")
        ),
        cost_estimate=pallas.CostEstimate(
            flops=2 * num_products * length * size,
            transcendentals=length * size // head_dim,
            bytes_accessed=(len(arrays) + num_outputs)
            * size
            * arrays[0].dtype.itemsize,
        ),
        interpret=interpret,
    )(padding_mask, *arrays)


def _forward_kernel(mask, query, key, value, output, head_dim):
    for head in _heads(output, head_dim):
        weights = _weights(query[head], key[head], mask[0])
        mixed = _product(weights.astype(value.dtype), value[head], (1, 0))
        output[head] = mixed.astype(output.dtype)


def _backward_kernel(
    mask, query, key, value, gradient, d_query, d_key, d_value, head_dim
):
    import jax.numpy as jnp

    dtype = query.dtype
    for head in _heads(query, head_dim):
        q, k, v, g = query[head], key[head], value[head], gradient[head]
        weights = _weights(q, k, mask[0])
        d_value[head] = _product(weights.astype(dtype), g, (0, 0)).astype(dtype)
        d_weights = _product(g, v, (1, 1))
        mean = jnp.sum(weights * d_weights, axis=-1, keepdims=True)
        d_scores = weights * (d_weights - mean) * _scale(q)
        d_scores = jnp.where(mask[0] > 0, d_scores, 0.0).astype(dtype)
        d_query[head] = _product(d_scores, k, (1, 0)).astype(dtype)
        d_key[head] = _product(d_scores, q, (0, 0)).astype(dtype)


def _heads(reference, head_dim):
    """Where each head lies in a block `(1, length, width)`."""
    width = reference.shape[-1]
    for start in range(0, width, head_dim):
        yield 0, slice(None), slice(start, start + head_dim)


def _weights(query, key, mask):
    import jax.numpy as jnp

    scores = _product(query, key, (1, 1)) * _scale(query)
    scores = jnp.where(mask > 0, scores, LOWEST)
    powers = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    return powers / jnp.sum(powers, axis=-1, keepdims=True)


def _scale(query):
    return float(query.shape[-1]) ** -0.5


def _product(left, right, contracted):
    """Sums products over one axis of each matrix, in float32."""
    import jax
    import jax.numpy as jnp

    axes = ((contracted[0],), (contracted[1],)), ((), ())
    return jax.lax.dot_general(
        left, right, axes, preferred_element_type=jnp.float32
    )
