"""Random numbers without state: a hash of a key and a counter.

Every choice of the data pipeline is a pure function of (seed, epoch, element,
what is chosen, position), so the result does not depend on the order of work,
the batch size or the number of workers. The hash is the finaliser of
SplitMix64: at counters 0, 1, 2, … it gives the sequence of that generator.

Reference:
    [Steele et al., 2014](https://doi.org/10.1145/2660193.2660195), figure 15.
"""

import numpy as np

GOLDEN_GAMMA = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)


def mix(values):
    """Scrambles 64-bit integers, one to one.

    Args:
        values: uint64 array of any shape.

    Returns:
        A uint64 array of the same shape.
    """
    values = values ^ (values >> np.uint64(SHIFTS[0]))
    values = values * np.uint64(MULTIPLIERS[0])
    values = values ^ (values >> np.uint64(SHIFTS[1]))
    values = values * np.uint64(MULTIPLIERS[1])
    return values ^ (values >> np.uint64(SHIFTS[2]))


def random_bits(key, counter):
    """Draws 64 random bits for each key and counter.

    Args:
        key: uint64 array, from `derive_key`.
        counter: array of integers that broadcasts with `key`.

    Returns:
        A uint64 array of the broadcast shape.
    """
    key = np.asarray(key, "uint64")
    counter = np.asarray(counter).astype("uint64")
    with np.errstate(over="ignore"):
        step = (counter + np.uint64(1)) * np.uint64(GOLDEN_GAMMA)
        return mix(np.asarray(key + step))


def derive_key(*parts):
    """Makes one key of several integers, such as seed, epoch and element.

    Args:
        parts: integers or integer arrays that broadcast together. Their order
            matters.

    Returns:
        A uint64 array of the broadcast shape.
    """
    key = np.zeros((), "uint64")
    for part in parts:
        if isinstance(part, int):
            part %= 1 << 64
        key = random_bits(random_bits(key, 0), part)
    return key


def uniform(key, counter):
    """Draws float64 numbers in [0, 1) with 53 random bits.

    Args:
        key: uint64 array, from `derive_key`.
        counter: array of integers that broadcasts with `key`.

    Returns:
        A float64 array of the broadcast shape.
    """
    return (random_bits(key, counter) >> np.uint64(11)) * 2.0**-53


def randint(key, counter, low, high):
    """Draws integers in [low, high), element by element.

    Args:
        key: uint64 array, from `derive_key`.
        counter: array of integers that broadcasts with `key`.
        low: integer array, the smallest value.
        high: integer array, one more than the largest value.

    Returns:
        An int64 array of the broadcast shape.
    """
    low = np.asarray(low, "int64")
    width = np.asarray(high, "int64") - low
    return low + np.floor(uniform(key, counter) * width).astype("int64")


def coin_flips(key, number):
    """Counts the heads in a number of fair coin flips, element by element.

    Args:
        key: uint64 array of shape `(n,)`.
        number: int64 array of shape `(n,)`, how often each coin is flipped.

    Returns:
        An int64 array of shape `(n,)`, binomial with rate one half.
    """
    heads = np.zeros(len(number), "int64")
    for word in range(-(-int(number.max(initial=0)) // 64)):
        flips = np.clip(number - 64 * word, 0, 64).astype("uint64")
        bits = random_bits(key, word)
        # A shift by 64 is undefined, hence two steps.
        unused = np.uint64(64) - flips
        bits = (bits >> (unused // np.uint64(2))) >> (
            unused - unused // np.uint64(2)
        )
        heads += np.bitwise_count(bits)
    return heads
