import keras
import numpy as np
import pytest

from keras_albert.training.run_optimizers import RunAdamW
from keras_albert.training.run_optimizers import RunLamb
from keras_albert.training.run_optimizers import inner_optimizer

pytestmark = pytest.mark.every_backend

START = np.array([[3.0, 4.0]], "float32")
GRADIENTS = [np.array([[g, 2 * g]], "float32") for g in (1.0, 2.0, -1.0, 0.5)]


def apply(optimizer, gradients):
    weight = keras.Variable(START)
    optimizer.build([weight])
    values = []
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [weight])
        values.append(keras.ops.convert_to_numpy(weight).copy())
    return values


@pytest.mark.parametrize("kind", [RunAdamW, RunLamb])
@pytest.mark.parametrize("parts", [None, 2])
def test_the_average_moves_once_per_update(kind, parts):
    optimizer = kind(
        0.1,
        use_ema=True,
        ema_momentum=0.75,
        gradient_accumulation_steps=parts,
    )
    values = apply(optimizer, GRADIENTS)
    updated = values[:: parts or 1] if parts is None else values[1::2]

    average = updated[0]
    for value in updated[1:]:
        average = 0.75 * average + 0.25 * value
    (kept,) = optimizer._model_variables_moving_average
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(kept), average, rtol=1e-5
    )


def test_the_weights_outlive_the_end_of_a_fit():
    optimizer = RunAdamW(0.1, use_ema=True)
    values = apply(optimizer, GRADIENTS)
    weight = optimizer._trainable_variables[0]

    optimizer.finalize_variable_values([weight])

    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(weight), values[-1]
    )


def test_the_norm_is_that_of_the_whole_update_before_clipping():
    optimizer = RunAdamW(
        0.1, global_clipnorm=1e-3, gradient_accumulation_steps=2
    )
    apply(optimizer, GRADIENTS[:2])

    # The mean of (1, 2) and (2, 4).
    np.testing.assert_allclose(
        float(optimizer.gradient_norm), np.hypot(1.5, 3.0), rtol=1e-6
    )


def test_clipping_sums_what_repeated_ids_give(monkeypatch):
    """TensorFlow gives one slice per looked-up id, each squared by Keras."""
    model = keras.Sequential(
        [
            keras.Input((4,), dtype="int32"),
            keras.layers.Embedding(3, 1, embeddings_initializer="ones"),
        ]
    )
    # No momentum to speak of: the first update is the clipped gradient's sign
    # times the rate, so the moment itself is looked at.
    optimizer = RunAdamW(0.0, global_clipnorm=1.0, beta_1=0.0)
    model.compile(
        optimizer, loss=lambda y, out: out[:, :, 0], jit_compile=False
    )
    ids = np.array([[1, 1, 1, 2]])
    model.fit(ids, np.zeros((1, 4, 1)), verbose=0)

    # Mean over 4 places: the gradient is (0, 3/4, 1/4).
    gradient = np.array([0.0, 0.75, 0.25])
    norm = np.linalg.norm(gradient)
    np.testing.assert_allclose(float(optimizer.gradient_norm), norm, rtol=1e-5)
    (moment,) = optimizer._momentums
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(moment)[:, 0],
        gradient * min(1.0, 1.0 / norm),
        rtol=1e-5,
    )


def test_the_optimizer_inside_of_loss_scaling():
    inner = RunAdamW(0.1)

    assert inner_optimizer(keras.optimizers.LossScaleOptimizer(inner)) is inner
    assert inner_optimizer(inner) is inner


@pytest.mark.parametrize("kind", [RunAdamW, RunLamb])
@pytest.mark.parametrize("clip", [0.5, 100.0])
def test_clipping_is_that_of_keras(kind, clip):
    moments = []
    for cls in (kind, keras.optimizers.Adam):
        weights = [keras.Variable(START), keras.Variable(np.ones((3,)))]
        optimizer = cls(0.1, beta_1=0.0, global_clipnorm=clip)
        optimizer.build(weights)
        optimizer.apply(
            [
                keras.ops.convert_to_tensor(GRADIENTS[1]),
                keras.ops.convert_to_tensor(np.full((3,), -2.0, "float32")),
            ]
        )
        moments.append(
            [keras.ops.convert_to_numpy(m) for m in optimizer._momentums]
        )

    for mine, keras_own in zip(*moments, strict=True):
        np.testing.assert_allclose(mine, keras_own, rtol=1e-6)


def test_a_gradient_that_is_not_finite_spoils_all_of_them():
    """As in Keras: a weight that looked healthy would hide what happened."""
    weights = [keras.Variable(START), keras.Variable(START)]
    optimizer = RunAdamW(0.1, global_clipnorm=1.0)
    optimizer.build(weights)
    infinite = np.array([[np.inf, 0.0]], "float32")
    optimizer.apply(
        [keras.ops.convert_to_tensor(g) for g in (GRADIENTS[0], infinite)]
    )

    assert np.isnan(keras.ops.convert_to_numpy(weights[0])).all()


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it makes"
)
def test_clipping_makes_no_arrays_of_the_weights_size_on_pytorch():
    import torch

    weight = keras.Variable(np.ones((4, 6), "float32"))
    optimizer = RunAdamW(0.1, global_clipnorm=0.5)
    optimizer.build([weight])
    gradient = torch.ones((4, 6))
    with torch.profiler.profile(profile_memory=True) as profile:
        optimizer.apply([gradient])

    made = [event.self_cpu_memory_usage for event in profile.events()]
    assert made
    assert max(made) < gradient.nbytes
