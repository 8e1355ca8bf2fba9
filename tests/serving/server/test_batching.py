"""Judged by a model that records the batches it was given."""

import asyncio
import threading

import numpy as np
import pytest

from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server.batching import Batching
from keras_albert.serving.server.batching_parameters import BatchingParameters
from keras_albert.serving.server.calls import Call
from keras_albert.serving.server.metrics import Metrics


class Doubling:
    """Doubles `x`, refuses negative numbers, and can be held up."""

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()

    def run(self, signature, tensors, outputs):
        self.gate.wait(10)
        x = tensors["x"]
        self.batches.append(x.tolist())
        if (x < 0).any():
            raise invalid("negative")
        return {"y": 2 * x}


def call(*values, outputs=("y",), name="s"):
    return Call(
        "Predict",
        Signature(name, {"x": None}, {"y": None}),
        {"x": np.array(values)},
        list(outputs),
        None,
    )


def batched(test, **parameters):
    """Runs an async test with a model and its `Batching`."""
    model = Doubling()
    options = {
        "max_batch_size": 4,
        "batch_timeout_micros": 20_000,
        "num_batch_threads": 1,
        **parameters,
    }

    async def run():
        batching = Batching(BatchingParameters(**options), Metrics())
        try:
            await asyncio.wait_for(test(batching, model), 30)
        finally:
            model.gate.set()
            batching.close()

    asyncio.run(run())
    return model


async def all_of(batching, model, *calls, seconds=None):
    runs = (batching.run(model, c, seconds) for c in calls)
    return await asyncio.gather(*runs, return_exceptions=True)


def test_requests_that_come_together_are_one_batch():
    async def test(batching, model):
        answers = await all_of(batching, model, call(1, 2), call(3))
        assert [a["y"].tolist() for a in answers] == [[2, 4], [6]]

    assert batched(test).batches == [[1, 2, 3]]


def test_a_full_batch_does_not_wait():
    async def test(batching, model):
        await asyncio.wait_for(all_of(batching, model, call(1, 2, 3, 4)), 5)

    batched(test, batch_timeout_micros=60_000_000)


def test_what_does_not_fit_comes_in_the_next_batch():
    async def test(batching, model):
        await all_of(batching, model, call(1, 2, 3), call(4, 5))

    assert batched(test).batches == [[1, 2, 3], [4, 5]]


def test_a_batch_that_the_next_request_does_not_fit_in_does_not_wait():
    async def test(batching, model):
        runs = [
            asyncio.ensure_future(batching.run(model, c))
            for c in (call(1, 2, 3), call(4, 5))
        ]
        await asyncio.wait_for(runs[0], 5)
        assert not runs[1].done()
        runs[1].cancel()

    batched(test, batch_timeout_micros=60_000_000)


def test_batches_are_filled_up_to_an_allowed_size():
    async def test(batching, model):
        (answer,) = await all_of(batching, model, call(1, 2, 3))
        assert answer["y"].tolist() == [2, 4, 6]

    assert batched(test, allowed_batch_sizes=(2, 4)).batches == [[1, 2, 3, 1]]


def test_signatures_outputs_and_shapes_have_queues_of_their_own():
    async def test(batching, model):
        wide = Call(
            "Predict",
            call().signature,
            {"x": np.array([[1, 2]])},
            ["y"],
            None,
        )
        await all_of(batching, model, call(1), call(2, name="t"), call(3), wide)

    assert sorted(map(str, batched(test).batches)) == [
        *("[1, 3]", "[2]", "[[1, 2]]"),
    ]


def test_a_request_s_error_is_its_own():
    async def test(batching, model):
        good, bad, also_good = await all_of(
            batching, model, call(1), call(-1), call(2)
        )
        assert good["y"].tolist() == [2]
        assert also_good["y"].tolist() == [4]
        assert isinstance(bad, ServingError)
        assert bad.message == "negative"

    batched(test)


def test_a_request_larger_than_a_batch_is_refused():
    async def test(batching, model):
        with pytest.raises(ServingError, match="Task size 5 is larger"):
            await batching.run(model, call(1, 2, 3, 4, 5))

    batched(test)


def test_a_request_may_be_cut():
    async def test(batching, model):
        answer = await batching.run(model, call(*range(7)))
        assert answer["y"].tolist() == [0, 2, 4, 6, 8, 10, 12]

    model = batched(
        test,
        max_batch_size=10,
        max_execution_batch_size=3,
        enable_large_batch_splitting=True,
    )
    assert model.batches == [[0, 1, 2], [3, 4, 5], [6]]


def test_no_rows_are_computed_alone():
    async def test(batching, model):
        answer = await batching.run(model, call())
        assert answer["y"].tolist() == []

    assert batched(test).batches == [[]]


def test_no_rows_have_a_deadline_too():
    async def test(batching, model):
        model.gate.clear()
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            await batching.run(model, call(), 0.02)

    batched(test)


def test_a_full_queue_refuses():
    async def test(batching, model):
        model.gate.clear()
        runs = [
            asyncio.ensure_future(batching.run(model, call(1, 2, 3, 4)))
            for _ in range(4)
        ]
        await asyncio.sleep(0.05)
        model.gate.set()
        done = await asyncio.gather(*runs, return_exceptions=True)
        # One is computed, two wait, and there is no room for the fourth.
        assert [isinstance(d, ServingError) for d in done] == [
            *(False, False, False, True),
        ]
        assert done[3].code == "UNAVAILABLE"

    batched(test, max_enqueued_batches=2)


def test_time_runs_out_in_the_queue_or_while_computing():
    async def test(batching, model):
        model.gate.clear()
        first = asyncio.ensure_future(batching.run(model, call(1), 0.2))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(batching.run(model, call(2), 0.05))
        with pytest.raises(ServingError, match="RESOURCE_EXHAUSTED"):
            await second
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            await first
        model.gate.set()
        answer = await batching.run(model, call(3))
        assert answer["y"].tolist() == [6]

    # The one whose time ran out while it waited is not computed at all.
    model = batched(test, batch_timeout_micros=0)
    assert model.batches == [[1], [3]]


def test_without_a_timeout_requests_merge_only_while_threads_are_busy():
    async def test(batching, model):
        model.gate.clear()
        runs = [
            asyncio.ensure_future(batching.run(model, call(n)))
            for n in (1, 2, 3)
        ]
        await asyncio.sleep(0.02)
        model.gate.set()
        await asyncio.gather(*runs)

    assert batched(test, batch_timeout_micros=0).batches == [[1], [2, 3]]


def test_queues_do_not_stay():
    async def test(batching, model):
        for width in range(1, 20):
            wide = Call(
                "Predict",
                call().signature,
                {"x": np.ones((1, width))},
                ["y"],
                None,
            )
            await batching.run(model, wide)
        assert not batching._queues

    batched(test, batch_timeout_micros=0)
