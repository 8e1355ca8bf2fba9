"""The kernel runs interpreted here; that TPUs' compiler takes it is tested
with the plans, where it is installed."""

import keras
import numpy as np
import pytest

from keras_albert.layers.self_attention import SelfAttention
from keras_albert.layers.tpu_attention import compiling_for_tpu
from keras_albert.layers.tpu_attention import fits_tpu_kernel
from keras_albert.layers.tpu_attention import has_tpu_kernel
from keras_albert.layers.tpu_attention import tpu_attention

BATCH, LENGTH, HEADS, DIM = 2, 128, 2, 64


def numpy_attention(query, key, value, mask, head_dim):
    """The formula in float64, one head after the other."""
    output = np.zeros(query.shape)
    for start in range(0, query.shape[-1], head_dim):
        head = np.s_[..., start : start + head_dim]
        scores = query[head] @ key[head].swapaxes(1, 2) / np.sqrt(head_dim)
        scores = np.where(mask[:, None], scores, -np.inf)
        # A row of nothing but padding attends to everything alike.
        scores[~mask.any(1)] = 0
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        output[head] = powers / powers.sum(-1, keepdims=True) @ value[head]
    return output


def random_arrays(count, dtype="float32", hidden_dim=HEADS * DIM):
    generator = np.random.default_rng(4)
    shape = (BATCH, LENGTH, hidden_dim)
    return [generator.normal(size=shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("head_dim", [64, 128])
def test_values_and_gradients_are_the_formulas(head_dim):
    jax = pytest.importorskip("jax")
    *arrays, direction = random_arrays(4)
    mask = np.ones((BATCH, LENGTH), "int32")
    mask[1, 100:] = 0

    output, pull = jax.vjp(
        lambda *x: tpu_attention(
            *x, jax.numpy.asarray(mask), head_dim, interpret=True
        ),
        *map(jax.numpy.asarray, arrays),
    )
    gradients = pull(jax.numpy.asarray(direction))

    def formula(*arrays):
        return numpy_attention(*arrays, mask > 0, head_dim)

    exact = [np.float64(array) for array in arrays]
    np.testing.assert_allclose(output, formula(*exact), atol=2e-6)
    # Each gradient along a random direction, by central differences.
    steps = random_arrays(3, "float64")
    for index, gradient in enumerate(gradients):
        ends = []
        for sign in (1, -1):
            moved = list(exact)
            moved[index] = exact[index] + sign * 1e-6 * steps[index]
            ends.append(np.sum(formula(*moved) * direction))
        slope = (ends[0] - ends[1]) / 2e-6
        found = np.sum(np.float64(gradient) * steps[index])
        assert found == pytest.approx(slope, rel=1e-4)


def test_a_row_of_padding_is_finite_and_gives_nothing_back():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    arrays = [jnp.asarray(x, "bfloat16") for x in random_arrays(3)]
    mask = jnp.ones((BATCH, LENGTH), "int32").at[1].set(0)

    output, pull = jax.vjp(
        lambda *x: tpu_attention(*x, mask, DIM, interpret=True), *arrays
    )
    d_query, d_key, _ = pull(output)

    assert output.dtype == jnp.bfloat16
    mean = jnp.mean(arrays[2][1].astype("float32"), axis=0)
    np.testing.assert_allclose(
        output[1].astype("float32"), jnp.tile(mean, (LENGTH, 1)), atol=0.01
    )
    assert jnp.all(d_query[1] == 0)
    assert jnp.all(d_key[1] == 0)
    assert bool(jnp.all(jnp.isfinite(d_query.astype("float32"))))


@pytest.mark.parametrize(
    "length, num_heads, head_dim, fits",
    [
        (128, 12, 64, True),
        (512, 16, 128, True),
        (512, 64, 64, True),
        # Too long for a core, no whole registers, an odd head left over.
        (1024, 12, 64, False),
        (100, 12, 64, False),
        (None, 12, 64, False),
        (128, 12, 26, False),
        (128, 3, 64, False),
    ],
)
def test_shapes_that_fit(length, num_heads, head_dim, fits):
    assert fits_tpu_kernel(length, num_heads, head_dim) == fits


@pytest.mark.every_backend
def test_the_kernel_is_for_tpus_alone():
    is_jax = keras.backend.backend() == "jax"

    assert not has_tpu_kernel(LENGTH, HEADS, DIM)
    with compiling_for_tpu():
        assert has_tpu_kernel(LENGTH, HEADS, DIM) == is_jax
        assert not has_tpu_kernel(LENGTH + 1, HEADS, DIM)
    assert not has_tpu_kernel(LENGTH, HEADS, DIM)


@pytest.mark.every_backend
def test_the_attention_block_takes_the_kernel_where_it_can():
    if keras.backend.backend() != "jax":
        pytest.skip("the kernel is JAX's")
    import jax

    def program(training=False, **changes):
        block = SelfAttention(HEADS * DIM, HEADS, **changes)
        hidden = np.ones((BATCH, LENGTH, HEADS * DIM), "float32")
        block.build(hidden.shape)
        mask = np.ones((BATCH, LENGTH), "int32")
        variables = (
            [v.value for v in block.trainable_variables],
            [v.value for v in block.non_trainable_variables],
        )
        return str(
            jax.make_jaxpr(
                lambda *x: block.stateless_call(*variables, *x, training)
            )(hidden, mask)
        )

    assert "pallas_call" not in program()
    with compiling_for_tpu():
        assert "pallas_call" in program()
        assert "pallas_call" in program(attention_dropout=0.1)
        # The kernel has no dropout of its own.
        assert "pallas_call" not in program(True, attention_dropout=0.1)
        parallel = keras.distribution.ModelParallel(
            layout_map=keras.distribution.LayoutMap(
                keras.distribution.DeviceMesh((1, 1), ["batch", "model"])
            ),
            batch_dim_name="batch",
        )
        with parallel.scope():
            assert "pallas_call" not in program()
