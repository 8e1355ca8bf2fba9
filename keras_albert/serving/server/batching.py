"""Requests that come at the same time are computed as one batch.

As in TensorFlow Serving, a queue per signature collects requests until a
batch is full or has waited long enough, and threads shared by all queues
compute batches. Relative to it, two things are kinder: rows of different
shapes wait in different queues, where the server refuses all that meet in a
batch; and when a batch fails, its requests are computed one by one, so that
only the one at fault gets the error.
"""

import asyncio
import collections
import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server import merging
from keras_albert.serving.server.deadlines import too_late
from keras_albert.serving.server.deadlines import within


@dataclasses.dataclass
class _Task:
    """A request, or a part of one, that waits or is computed."""

    tensors: dict
    size: int
    future: asyncio.Future
    since: float
    started: bool = False


@dataclasses.dataclass
class _Batch:
    """Tasks that will be computed together."""

    tasks: list
    size: int = 0
    is_full: bool = False
    is_due: bool = False


@dataclasses.dataclass
class _Queue:
    """The batches of one signature, the last one open."""

    model: object
    signature: object
    outputs: list
    batches: collections.deque

    @property
    def is_ready(self):
        first = self.batches[0] if self.batches else None
        return first is not None and (first.is_full or first.is_due)


class Batching:
    """The queues of a server and the threads they share.

    Must be made and used inside a running event loop.

    Args:
        parameters: `BatchingParameters`.
        metrics: `Metrics`.
    """

    def __init__(self, parameters, metrics):
        self._parameters = parameters
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._queues = {}
        self._free = parameters.num_batch_threads
        self._pool = ThreadPoolExecutor(
            parameters.num_batch_threads, thread_name_prefix="batch"
        )

    async def run(self, model, call, seconds=None):
        """Computes a call, together with others that come meanwhile.

        Args:
            model: `LoadedModel`.
            call: `Call`.
            seconds: float. How long it may take; `None` for any time.

        Returns:
            Dict from output name to NumPy array.

        Raises:
            ServingError: INVALID_ARGUMENT for more rows than a batch takes,
                UNAVAILABLE if the queue is full, RESOURCE_EXHAUSTED if the
                time is over while the request waits, DEADLINE_EXCEEDED if
                while it is computed, or what the model raises.
        """
        size = merging.num_rows(call.tensors)
        limit = self._parameters.max_batch_size
        if size > limit:
            raise invalid(
                f"Task size {size} is larger than maximum input batch size "
                f"{limit}"
            )
        if size == 0:  # nothing that a batch could hold
            run = self._loop.run_in_executor(
                self._pool,
                model.run,
                call.signature,
                call.tensors,
                call.outputs,
            )
            return await within(seconds, run)
        parts = [call.tensors]
        if size > self._parameters.batch_size:
            parts = merging.cut(call.tensors, self._parameters.batch_size)
        tasks = []
        try:
            for part in parts:
                tasks.append(self._enqueue(model, call, part))
            return merging.join(await self._results(tasks, seconds))
        finally:
            for task in tasks:
                if not task.future.cancel() and not task.future.cancelled():
                    task.future.exception()  # it may be known already

    async def _results(self, tasks, seconds):
        futures = [task.future for task in tasks]
        _, waiting = await asyncio.wait(futures, timeout=seconds)
        if waiting and not all(task.started for task in tasks):
            raise ServingError(
                "RESOURCE_EXHAUSTED",
                "Run() timeout exceeded while waiting in batching queue",
            )
        if waiting:
            raise too_late(seconds)
        return [future.result() for future in futures]

    def _enqueue(self, model, call, tensors):
        queue = self._queue(model, call, tensors)
        task = _Task(
            tensors,
            merging.num_rows(tensors),
            self._loop.create_future(),
            time.monotonic(),
        )
        self._open_batch(queue, task.size).tasks.append(task)
        batch = queue.batches[-1]
        batch.size += task.size
        batch.is_full = batch.size >= self._parameters.batch_size
        self._start_ready()
        return task

    def _queue(self, model, call, tensors):
        key = (
            id(model),
            call.signature.name,
            tuple(call.outputs),
            merging.row_shapes(tensors),
        )
        if key not in self._queues:
            self._queues[key] = _Queue(
                model, call.signature, call.outputs, collections.deque()
            )
        return self._queues[key]

    def _open_batch(self, queue, size):
        """Finds the batch that takes `size` more rows."""
        batches = queue.batches
        if batches and not batches[-1].is_full:
            if batches[-1].size + size <= self._parameters.batch_size:
                return batches[-1]
            batches[-1].is_full = True
        if len(batches) >= self._parameters.max_enqueued_batches:
            raise ServingError(
                "UNAVAILABLE",
                "The batch scheduling queue to which this task was submitted "
                f"is full; currently {len(batches)} batches enqueued and "
                "max_enqueued_batches is "
                f"{self._parameters.max_enqueued_batches}",
            )
        batch = _Batch([])
        batches.append(batch)
        micros = self._parameters.batch_timeout_micros
        if micros == 0:
            batch.is_due = True
        else:
            self._loop.call_later(micros / 1e6, self._become_due, batch)
        return batch

    def _become_due(self, batch):
        batch.is_due = True
        self._start_ready()

    def _start_ready(self):
        """Gives batches that are full or have waited to free threads."""
        while self._free:
            ready = (k for k, queue in self._queues.items() if queue.is_ready)
            key = next(ready, None)
            if key is None:
                return
            # Last in turn next time; empty queues do not stay.
            queue = self._queues.pop(key)
            batch = queue.batches.popleft()
            if queue.batches:
                self._queues[key] = queue
            self._start(queue, batch)

    def _start(self, queue, batch):
        now = time.monotonic()
        tasks = [task for task in batch.tasks if not task.future.done()]
        for task in batch.tasks:
            task.started = True
            self._metrics.queuing_latency.observe(1e6 * (now - task.since))
        if not tasks:
            return
        self._free -= 1
        padded_size = self._parameters.padded_size(sum(t.size for t in tasks))
        run = self._loop.run_in_executor(
            self._pool, _compute, queue, tasks, padded_size
        )
        run.add_done_callback(lambda done: self._finish(tasks, done))

    def _finish(self, tasks, done):
        self._free += 1
        results = [done.exception()] * len(tasks)
        if done.exception() is None:
            results = done.result()
        for task, result in zip(tasks, results, strict=True):
            if task.future.done():
                continue
            if isinstance(result, BaseException):
                task.future.set_exception(result)
            else:
                task.future.set_result(result)
        self._start_ready()

    def close(self):
        """Ends the threads, once what they compute is done."""
        self._pool.shutdown(wait=True)


def _compute(queue, tasks, padded_size):
    """Answers tasks together; in one of the pool's threads.

    Returns:
        List of a dict of outputs, or an exception, per task.
    """
    sizes = [task.size for task in tasks]
    try:
        tensors = merging.merge([task.tensors for task in tasks], padded_size)
        outputs = queue.model.run(queue.signature, tensors, queue.outputs)
        return merging.split(outputs, sizes, padded_size)
    except ServingError as error:
        if len(tasks) == 1:
            return [error]
        return [_compute(queue, [t], t.size)[0] for t in tasks]
