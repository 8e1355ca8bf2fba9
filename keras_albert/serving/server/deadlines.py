"""Answers that take too long."""

import asyncio

from keras_albert.serving.protocol.statuses import ServingError


async def within(seconds, run):
    """Waits for what a thread computes, but not for ever.

    What is being computed cannot be stopped; nobody waits for it any more.

    Args:
        seconds: float, or `None` for any time.
        run: future.

    Returns:
        The future's result.

    Raises:
        ServingError: DEADLINE_EXCEEDED, or what the future raises.
    """
    done, _ = await asyncio.wait([run], timeout=seconds)
    if not done:
        run.cancel()
        raise too_late(seconds)
    return run.result()


def too_late(seconds):
    """The error for a request whose time was over while it was computed."""
    return ServingError(
        "DEADLINE_EXCEEDED", f"The answer took over {seconds:g} s."
    )
