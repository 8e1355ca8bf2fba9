"""Tries again what failed for a reason that passes."""

import dataclasses
import time

from keras_albert.serving.protocol.statuses import ServingError

# The server was not there, or had too much to do. All other errors would come
# again, or the time is over.
PASSING = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED"})


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """How often to try, and how long to wait in between.

    The wait before try n is drawn from 0 to `first_wait * 2^n`, so that
    clients that failed together do not come back together.

    Args:
        tries: int. Defaults to 5.
        first_wait: float, in seconds. Defaults to 0.1.
        longest_wait: float, in seconds. Defaults to 5.
    """

    tries: int = 5
    first_wait: float = 0.1
    longest_wait: float = 5.0

    def __post_init__(self):
        if self.tries < 1 or self.first_wait < 0 or self.longest_wait < 0:
            raise ValueError(
                "A retry policy needs at least one try and no negative wait. "
                f"Received: {self}."
            )

    def wait(self, failures, random):
        """Draws how long to wait.

        Args:
            failures: int, the tries that failed so far.
            random: has `uniform(low, high)`.

        Returns:
            Float, in seconds.
        """
        highest = self.first_wait * 2 ** (failures - 1)
        return random.uniform(0, min(highest, self.longest_wait))


def with_retries(
    attempt, policy, ends, random, sleep=time.sleep, clock=time.monotonic
):
    """Calls a function until it succeeds, fails for good, or time is over.

    Args:
        attempt: function from the seconds left to a result. An error of it
            may say in `retry_after` how many seconds the server asks for.
        policy: `RetryPolicy`.
        ends: float, when the time is over, as `clock` tells it.
        random: has `uniform(low, high)`.
        sleep: function from seconds.
        clock: function that tells the time.

    Returns:
        What `attempt` returns.

    Raises:
        ServingError: the last one; DEADLINE_EXCEEDED where no time is left.
    """
    for number in range(1, policy.tries + 1):
        left = ends - clock()
        if left <= 0:
            raise ServingError("DEADLINE_EXCEEDED", "No time is left.")
        try:
            return attempt(left)
        except ServingError as error:
            wait = policy.wait(number, random)
            wait = max(wait, getattr(error, "retry_after", 0))
            is_last = number == policy.tries or clock() + wait >= ends
            if not is_passing(error) or is_last:
                if number > 1:
                    error.message += f" (try {number})"
                raise
        sleep(wait)
    raise AssertionError("a policy has at least one try")


def is_passing(error):
    """Whether the same request may succeed a little later.

    A message that is too large has the code of a full queue, but will not
    shrink.
    """
    return error.code in PASSING and "larger than max" not in error.message
