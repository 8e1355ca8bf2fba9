"""Runs calls on the models, merged or one by one, within their time."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor

from keras_albert.serving.server.batching import Batching
from keras_albert.serving.server.deadlines import within

# Of the server's REST threads, too.
THREADS_PER_CORE = 4
# What is longer is read and written beside the event loop, which answers
# everybody else meanwhile.
LONG_REQUEST_BYTES = 2**16
LONG_REPLY_ELEMENTS = 2**14


def num_elements(result):
    """How much there is to write: elements of all outputs, or rows."""
    if isinstance(result, dict):
        return sum(array.size for array in result.values())
    return len(result)


class Runner:
    """Where requests are computed.

    Must be made inside a running event loop.

    Args:
        metrics: `Metrics`.
        batching: `BatchingParameters`, or `None` to run requests one by one.
    """

    def __init__(self, metrics, batching=None):
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(
            THREADS_PER_CORE * (os.cpu_count() or 1), thread_name_prefix="run"
        )
        self._batching = batching and Batching(batching, metrics)

    async def run(self, version, call, seconds=None):
        """Computes a call.

        Args:
            version: `Version`, held by the caller.
            call: `Call`.
            seconds: float. How long it may take; `None` for any time.

        Returns:
            The call's result.

        Raises:
            ServingError: DEADLINE_EXCEEDED, or what the model raises.
        """
        started = time.monotonic()
        if self._batching:
            outputs = await self._batching.run(version.model, call, seconds)
        else:
            outputs = await self._run_alone(version.model, call, seconds)
        micros = 1e6 * (time.monotonic() - started)
        self._metrics.runtime_latency.observe(
            micros, version.model_name, call.api, "TF1"
        )
        return call.finish(outputs)

    async def _run_alone(self, model, call, seconds):
        run = asyncio.get_running_loop().run_in_executor(
            self._pool, model.run, call.signature, call.tensors, call.outputs
        )
        return await within(seconds, run)

    async def beside(self, is_long, function, *arguments):
        """Runs a function, in a thread if it takes a while."""
        if not is_long:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, function, *arguments
        )

    def close(self):
        """Ends the threads, once what they compute is done."""
        self._pool.shutdown(wait=True)
        if self._batching:
            self._batching.close()
