import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.training.wait_clock import WaitClock

COUNT, SECONDS = 12, 0.02


def slow_batches():
    def wait(index):
        time.sleep(SECONDS)
        return np.float32([[index]])

    def make(index):
        batch = tf.numpy_function(wait, [index], tf.float32)
        batch = tf.ensure_shape(batch, (1, 1))
        # In one function: TensorFlow runs a second one in parallel, ahead.
        return batch, batch

    return tf.data.Dataset.range(COUNT).map(make)


@pytest.mark.every_backend
def test_fit_waits_for_a_slow_dataset():
    clock = WaitClock()
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse", jit_compile=False)

    model.fit(clock.watch(slow_batches()), verbose=0)

    assert 0.8 * COUNT * SECONDS < clock.seconds < 20 * COUNT * SECONDS


def test_what_was_made_ahead_is_not_waited_for():
    clock = WaitClock()
    batches = clock.watch(slow_batches().prefetch(COUNT))
    first = True
    for _ in batches:
        time.sleep(SECONDS * COUNT * 2 if first else 0)
        first = False

    # All but the first were there.
    assert clock.seconds < 5 * SECONDS


def test_batches_stay_as_they_are():
    dataset = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3.0, 4.0]})

    watched = WaitClock().watch(dataset)

    assert list(watched.as_numpy_iterator()) == list(
        dataset.as_numpy_iterator()
    )
    assert watched.element_spec == dataset.element_spec
    assert watched.cardinality() == 2
