"""The judge is `counter_random`, which has a judge of its own."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import counter_random
from keras_albert.data import graph_random

KEYS = counter_random.derive_key(5, np.arange(400))
COUNTERS = np.arange(-3, 397)


def test_random_bits_equal_numpy_for_a_number_and_for_each_row():
    one = graph_random.random_bits(tf.constant(KEYS), 7)
    each = graph_random.random_bits(tf.constant(KEYS), tf.constant(COUNTERS))

    expected = counter_random.random_bits(KEYS, 7)
    assert (one.numpy() == expected).all()
    expected = counter_random.random_bits(KEYS, COUNTERS)
    assert (each.numpy() == expected).all()


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 + 5])
def test_keys_equal_numpy_wherever_the_tensors_stand(seed):
    epoch = tf.constant(3, tf.int64)
    place = np.arange(50)

    keys = graph_random.derive_key(7, seed, epoch, tf.constant(place), 11)

    expected = counter_random.derive_key(7, seed, 3, place, 11)
    assert keys.dtype == tf.uint64
    assert (keys.numpy() == expected).all()


def test_a_key_of_known_numbers_is_a_scalar():
    key = graph_random.derive_key(7, 2)

    assert int(key) == int(counter_random.derive_key(7, 2))


def test_sort_keys_keep_the_order():
    keys = graph_random.sort_key(tf.constant(KEYS)).numpy()

    assert keys.min() >= 0
    assert (np.argsort(keys) == np.argsort(KEYS)).all()


def test_uniform_numbers_equal_numpy():
    bits = graph_random.random_bits(tf.constant(KEYS), 2)

    numbers = graph_random.uniform(bits).numpy()

    assert (numbers == counter_random.uniform(KEYS, 2)).all()


def test_integers_equal_numpy():
    high = np.arange(2, 402)
    bits = graph_random.random_bits(tf.constant(KEYS), 9)

    drawn = graph_random.randint(bits, 1, tf.constant(high, tf.int32))

    assert drawn.dtype == tf.int32
    expected = counter_random.randint(KEYS, 9, 1, high)
    assert (drawn.numpy() == expected).all()


def test_coin_flips_equal_numpy():
    number = np.arange(400)

    heads = graph_random.coin_flips(
        tf.constant(KEYS), tf.constant(number, tf.int32), 399
    )

    assert (heads.numpy() == counter_random.coin_flips(KEYS, number)).all()
