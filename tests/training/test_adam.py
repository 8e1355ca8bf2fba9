"""On one device it is Keras's; for more, test_tensorflow_distribution."""

import keras
import numpy as np
import pytest

from keras_albert.training.adam import AdamW

pytestmark = pytest.mark.every_backend

START = np.linspace(-1, 1, 24, dtype="float32").reshape(4, 6)


def by_formula(gradients, rate, decay, betas=(0.9, 0.999), epsilon=1e-7):
    """Kingma and Ba's last formula of section 2, the decay outside of it."""
    weight, mean, square = START.astype("float64"), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        weight = weight * (1 - rate * decay)
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        square = betas[1] * square + (1 - betas[1]) * gradient**2
        corrected = rate * np.sqrt(1 - betas[1] ** step)
        corrected = corrected / (1 - betas[0] ** step)
        weight = weight - corrected * mean / (np.sqrt(square) + epsilon)
    return weight


def some_gradients(count):
    rng = np.random.default_rng(0)
    return rng.normal(0, 0.1, (count, *START.shape)).astype("float32")


def applied(optimizer, gradients):
    variable = keras.Variable(START, name="kernel")
    optimizer.build([variable])
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient)])
    return keras.ops.convert_to_numpy(variable)


# With a large epsilon it matters whether it is added before the correction.
@pytest.mark.parametrize("epsilon", [1e-7, 0.1])
def test_it_follows_the_formula(epsilon):
    gradients = some_gradients(5)
    optimizer = AdamW(0.1, weight_decay=0.2, epsilon=epsilon)

    np.testing.assert_allclose(
        applied(optimizer, gradients),
        by_formula(gradients, 0.1, 0.2, epsilon=epsilon),
        # `1 - 0.999 ** step` is right to 6e-5 in float32, in Keras too.
        atol=1e-5,
    )


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("accumulation", [None, 2])
def test_on_one_device_it_is_keras_adamw(accumulation, amsgrad):
    arguments = {
        "weight_decay": 0.2,
        "global_clipnorm": 0.5,
        "gradient_accumulation_steps": accumulation,
        "amsgrad": amsgrad,
    }
    gradients = some_gradients(4)
    ours = AdamW(0.1, **arguments)
    theirs = keras.optimizers.AdamW(0.1, **arguments)

    np.testing.assert_allclose(
        applied(ours, gradients), applied(theirs, gradients), atol=1e-5
    )
    for mine, other in zip(ours.variables, theirs.variables, strict=True):
        np.testing.assert_allclose(
            *map(keras.ops.convert_to_numpy, (mine, other)), atol=1e-6
        )


def test_a_schedule_moves_on():
    gradients = some_gradients(3)
    schedule = keras.optimizers.schedules.PolynomialDecay(0.1, 3)
    results = [
        applied(kind(schedule), gradients)
        for kind in (AdamW, keras.optimizers.AdamW)
    ]

    np.testing.assert_allclose(*results, atol=1e-5)


def test_it_survives_serialization():
    optimizer = AdamW(0.1, weight_decay=0.2, global_clipnorm=0.5)
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(optimizer)
    )

    assert type(again) is AdamW
    assert again.get_config() == optimizer.get_config()


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of TensorFlow's slices"
)
def test_an_id_that_comes_twice_is_squared_as_one():
    import tensorflow as tf

    variable = keras.Variable(START, name="kernel")
    optimizer = AdamW(0.1, weight_decay=0.0)
    optimizer.build([variable])
    slices = tf.IndexedSlices(tf.ones((2, 6)), tf.constant([1, 1]), (4, 6))
    optimizer.apply([slices])

    gradient = np.zeros(START.shape)
    gradient[1] = 2.0
    np.testing.assert_allclose(
        variable.numpy(), by_formula([gradient], 0.1, 0.0), atol=1e-6
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of TensorFlow's graph"
)
def test_tensorflow_updates_without_arrays_of_the_weights_size():
    import tensorflow as tf

    variable = keras.Variable(START, name="kernel")
    optimizer = AdamW(0.1)
    optimizer.build([variable])

    @tf.function
    def update(gradient):
        optimizer.apply([gradient])

    graph = update.get_concrete_function(
        tf.TensorSpec(START.shape, "float32")
    ).graph
    made = [
        operation.type
        for operation in graph.get_operations()
        for output in operation.outputs
        if output.shape == START.shape
    ]
    passed_on = {"Placeholder", "ReadVariableOp", "Identity", "IdentityN"}
    # The decay is `weight -= weight * decay * rate`.
    assert [kind for kind in made if kind not in passed_on] == ["Mul", "Mul"]


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it makes"
)
def test_pytorch_updates_without_arrays_of_the_weights_size():
    import torch

    variable = keras.Variable(START, name="kernel")
    optimizer = AdamW(0.1, weight_decay=0.1)
    optimizer.build([variable])
    gradient = torch.ones(START.shape)
    with torch.profiler.profile(profile_memory=True) as profile:
        optimizer.apply([gradient])

    made = [event.self_cpu_memory_usage for event in profile.events()]
    assert made
    assert max(made) < START.nbytes
