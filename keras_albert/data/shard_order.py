"""The order in which an epoch reads the shards, and where a step lies in it.

    epoch 0   | shard 3, shard 0 | shard 2, shard 1 | shard 4 |   3 windows
    epoch 1   | shard 1, shard 4 | …

Each epoch has its own order of the shards. They are read in windows of a few
shards; the examples of a window are shuffled together. Where the n-th example
of the stream lies follows from the counts of the shards alone.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from keras_albert.data.counter_random import derive_key
from keras_albert.data.counter_random import random_bits

SHARD_KEY = 0x53484152
WINDOW_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in the endless stream of examples.

    Args:
        epoch: int.
        window: int. Which window of the epoch.
        offset: int. How many examples of the window come before.
    """

    epoch: int
    window: int
    offset: int


def shards_per_window(
    sizes: Sequence[int], window_bytes: int = WINDOW_BYTES
) -> int:
    """How many shards fit into a window, whichever they are.

    Args:
        sizes: the shards' sizes in bytes.
        window_bytes: int. Defaults to 64 MiB.

    Returns:
        An int, at least 1.
    """
    fitting = window_bytes // max(1, *sizes, 1)
    return int(np.clip(fitting, 1, len(sizes)))


def shard_order(seed: int, epoch: int, num_shards: int) -> np.ndarray:
    """The order of the shards in one epoch.

    Args:
        seed: int.
        epoch: int.
        num_shards: int.

    Returns:
        An int64 array of shape `(num_shards,)`.
    """
    bits = random_bits(
        derive_key(SHARD_KEY, seed, epoch), np.arange(num_shards)
    )
    return np.argsort(bits >> np.uint64(1), kind="stable")


def find_place(
    counts: Sequence[int], window_shards: int, seed: int, example: int
) -> Place:
    """Finds an example of the stream without reading any.

    Args:
        counts: the shards' numbers of examples.
        window_shards: int. Shards of a window; the last one of an epoch may
            have fewer.
        seed: int.
        example: int. How many examples come before.

    Returns:
        A `Place`.
    """
    counts = np.asarray(counts, "int64")
    epoch, rest = divmod(example, int(counts.sum()))
    in_order = counts[shard_order(seed, epoch, len(counts))]
    ends = np.cumsum(in_order)[window_shards - 1 :: window_shards]
    window = int(np.searchsorted(ends, rest, side="right"))
    before = int(in_order[: window * window_shards].sum())
    return Place(epoch, window, rest - before)
