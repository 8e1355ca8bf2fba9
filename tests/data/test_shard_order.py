import numpy as np
import pytest

from keras_albert.data.shard_order import Place
from keras_albert.data.shard_order import find_place
from keras_albert.data.shard_order import shard_order
from keras_albert.data.shard_order import shards_per_window

COUNTS = [5, 1, 9, 4, 7]


def places_one_by_one(window_shards, seed, number):
    """Counts every example of the stream, epoch after epoch."""
    epoch = 0
    while True:
        order = shard_order(seed, epoch, len(COUNTS))
        for window, start in enumerate(range(0, len(COUNTS), window_shards)):
            shards = order[start : start + window_shards]
            for offset in range(sum(COUNTS[shard] for shard in shards)):
                yield Place(epoch, window, offset)
                number -= 1
                if number == 0:
                    return
        epoch += 1


@pytest.mark.parametrize("window_shards", [1, 2, 3, 5])
def test_places_are_those_of_counting(window_shards):
    expected = list(places_one_by_one(window_shards, 3, 100))

    found = [find_place(COUNTS, window_shards, 3, i) for i in range(100)]

    assert found == expected


def test_a_far_place_is_found_at_once():
    place = find_place(COUNTS, 2, 1, 26 * 10**9 + 25)

    assert place.epoch == 10**9
    assert place.window == 2


def test_each_epoch_has_an_order_of_its_own():
    orders = [shard_order(1, epoch, 50).tolist() for epoch in range(5)]

    assert len({tuple(order) for order in orders}) == 5
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert shard_order(2, 0, 50).tolist() not in orders


def test_every_shard_comes_first_equally_often():
    first = [shard_order(4, epoch, 5)[0] for epoch in range(3000)]

    share = np.bincount(first) / 3000
    np.testing.assert_allclose(share, 0.2, atol=4 * (0.16 / 3000) ** 0.5)


@pytest.mark.parametrize(
    "sizes, expected",
    [([10, 30], 2), ([40, 10, 10], 2), ([200, 1], 1), ([1] * 9, 9), ([0], 1)],
)
def test_a_window_holds_what_fits(sizes, expected):
    assert shards_per_window(sizes, window_bytes=100) == expected
