import random

import pytest

from keras_albert.serving.client.retries import RetryPolicy
from keras_albert.serving.client.retries import is_passing
from keras_albert.serving.client.retries import with_retries
from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.protocol.statuses import ServingError


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 0.0
        self.sleeps = []

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.now += seconds

    def __call__(self):
        return self.now


class Highest:
    """Draws the longest wait that is possible."""

    def uniform(self, low, high):
        return high


def try_all(codes, policy=None, ends=100.0, clock=None, retry_after=0):
    """Fails with these codes in turn, then returns the number of tries."""
    clock = clock or Clock()
    left = list(codes)

    def attempt(seconds):
        assert seconds == ends - clock.now
        if left:
            error = ServingError(left.pop(0), "x")
            error.retry_after = retry_after
            raise error
        return len(codes) + 1

    return with_retries(
        attempt,
        policy or RetryPolicy(),
        ends,
        Highest(),
        clock.sleep,
        clock,
    )


def test_what_passes_is_tried_again_with_growing_waits():
    clock = Clock()

    assert try_all(["UNAVAILABLE", "RESOURCE_EXHAUSTED"] * 2, clock=clock) == 5
    assert clock.sleeps == pytest.approx([0.1, 0.2, 0.4, 0.8])


@pytest.mark.parametrize(
    "code", sorted(set(HTTP_CODES) - {"UNAVAILABLE", "RESOURCE_EXHAUSTED"})
)
def test_what_does_not_pass_is_not_tried_again(code):
    clock = Clock()
    with pytest.raises(ServingError, match=code):
        try_all([code], clock=clock)
    assert not clock.sleeps


def test_a_message_that_is_too_large_is_not_sent_again():
    text = "Received message larger than max (9 vs. 4)"
    assert not is_passing(ServingError("RESOURCE_EXHAUSTED", text))
    assert is_passing(ServingError("RESOURCE_EXHAUSTED", "queue"))


def test_tries_are_counted():
    with pytest.raises(ServingError, match=r"try 3"):
        try_all(["UNAVAILABLE"] * 3, RetryPolicy(tries=3))


def test_nothing_is_tried_after_the_deadline():
    clock = Clock()
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        try_all(["UNAVAILABLE"] * 9, RetryPolicy(9, 1.0), 5.0, clock)
    assert clock.now < 5
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        try_all([], ends=0.0)


def test_the_server_s_wish_is_heard():
    clock = Clock()
    try_all(["UNAVAILABLE"], clock=clock, retry_after=7)
    assert clock.sleeps == [7]


def test_waits_are_drawn_and_bounded():
    policy = RetryPolicy(99, first_wait=1.0, longest_wait=8.0)
    draws = [policy.wait(10, random.Random(seed)) for seed in range(200)]

    assert 0 <= min(draws) < 1
    assert 7 < max(draws) <= 8
    with pytest.raises(ValueError, match="at least one try"):
        RetryPolicy(tries=0)
