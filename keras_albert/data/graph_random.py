"""`counter_random` in TensorFlow ops: the same numbers inside a graph.

The reading of prepared data and the masks run as graphs, also in other
processes; each function here gives exactly what the NumPy function of the same
name gives, so that either can check the other.
"""

import numpy as np
import tensorflow as tf

from keras_albert.data import counter_random


def uint64(value):
    """A scalar constant; Python integers above 2**63 have no other way in."""
    return tf.constant(np.uint64(value % (1 << 64)))


def mix(values):
    """Scrambles 64-bit integers, one to one.

    Args:
        values: uint64 tensor of any shape.

    Returns:
        A uint64 tensor of the same shape.
    """
    for shift, multiplier in zip(
        counter_random.SHIFTS, (*counter_random.MULTIPLIERS, 1), strict=True
    ):
        shifted = tf.bitwise.right_shift(values, uint64(shift))
        values = tf.bitwise.bitwise_xor(values, shifted)
        if multiplier != 1:
            values *= uint64(multiplier)
    return values


def random_bits(key, counter):
    """Draws 64 random bits for each key and counter.

    Args:
        key: uint64 tensor.
        counter: int, or a tensor of integers that broadcasts with `key`.

    Returns:
        A uint64 tensor of the broadcast shape.
    """
    gamma = counter_random.GOLDEN_GAMMA
    if isinstance(counter, int):
        return mix(key + uint64((counter + 1) * gamma))
    return mix(key + (tf.cast(counter, tf.uint64) + uint64(1)) * uint64(gamma))


def derive_key(*parts):
    """Makes one key of several integers, such as seed, epoch and element.

    Args:
        parts: Python integers or tensors of integers that broadcast together.

    Returns:
        A uint64 tensor of the broadcast shape.
    """
    known = 0
    while known < len(parts) and isinstance(parts[known], int):
        known += 1
    # What is known beforehand is hashed beforehand.
    key = tf.constant(counter_random.derive_key(*parts[:known]))
    for part in parts[known:]:
        part = part % (1 << 64) if isinstance(part, int) else part
        key = random_bits(random_bits(key, 0), part)
    return key


def sort_key(bits):
    """63 of the bits as non-negative int64, which TensorFlow can sort.

    Args:
        bits: uint64 tensor of any shape.

    Returns:
        An int64 tensor of the same shape.
    """
    return tf.cast(tf.bitwise.right_shift(bits, uint64(1)), tf.int64)


def uniform(bits):
    """Turns random bits into float64 numbers in [0, 1).

    Args:
        bits: uint64 tensor, from `random_bits`.

    Returns:
        A float64 tensor of the same shape.
    """
    bits = tf.bitwise.right_shift(bits, uint64(11))
    return tf.cast(tf.cast(bits, tf.int64), tf.float64) * 2.0**-53


def randint(bits, low, high):
    """Turns random bits into integers in [low, high), element by element.

    Args:
        bits: uint64 tensor, from `random_bits`.
        low: int, or int32 tensor that broadcasts with `bits`.
        high: int32 tensor that broadcasts with `bits`.

    Returns:
        An int32 tensor of the broadcast shape.
    """
    width = tf.cast(high - low, tf.float64)
    return low + tf.cast(tf.floor(uniform(bits) * width), tf.int32)


def coin_flips(key, number, largest):
    """Counts the heads in a number of fair coin flips, element by element.

    Args:
        key: uint64 tensor of shape `(n,)`.
        number: int32 tensor of shape `(n,)`, how often each coin is flipped.
        largest: int. No number is larger.

    Returns:
        An int32 tensor of shape `(n,)`, binomial with rate one half.
    """
    word = tf.range(-(-largest // 64))
    flips = tf.clip_by_value(number[:, None] - 64 * word, 0, 64)
    # A shift by 64 is undefined, hence two steps.
    unused = tf.cast(64 - flips, tf.uint64)
    half = tf.bitwise.right_shift(unused, uint64(1))
    bits = random_bits(key[:, None], word)
    bits = tf.bitwise.right_shift(bits, half)
    bits = tf.bitwise.right_shift(bits, unused - half)
    heads = tf.raw_ops.PopulationCount(x=bits)
    return tf.reduce_sum(tf.cast(heads, tf.int32), axis=1)
