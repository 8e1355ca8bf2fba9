import asyncio
import threading
import types

import numpy as np
import pytest

from keras_albert.serving.protocol.signatures import Signature
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.batching_parameters import BatchingParameters
from keras_albert.serving.server.calls import Call
from keras_albert.serving.server.metrics import Metrics
from keras_albert.serving.server.runner import Runner

SIGNATURE = Signature("s", {"x": None}, {"y": None})


class Adding:
    """Adds one, when it may."""

    def __init__(self):
        self.gate = threading.Event()
        self.sizes = []

    def run(self, signature, tensors, outputs):
        self.gate.wait(10)
        self.sizes.append(len(tensors["x"]))
        return {"y": tensors["x"] + 1}


def call(*values):
    tensors = {"x": np.array(values)}
    return Call(
        "Predict", SIGNATURE, tensors, ["y"], lambda out: out["y"].tolist()
    )


@pytest.mark.parametrize(
    "batching, sizes", [(None, [1, 1]), (BatchingParameters(2, 10**6), [2])]
)
def test_calls_run_alone_or_merged(batching, sizes):
    model = Adding()
    model.gate.set()
    version = types.SimpleNamespace(model=model, model_name="m")
    metrics = Metrics()

    async def run():
        runner = Runner(metrics, batching)
        answers = await asyncio.gather(
            runner.run(version, call(1)), runner.run(version, call(2))
        )
        runner.close()
        return answers

    assert asyncio.run(run()) == [[2], [3]]
    assert model.sizes == sizes
    count = 'runtime_latency_count{model_name="m",API="Predict",runtime="TF1"}'
    assert f"{count} 2" in metrics.page()


def test_time_runs_out():
    model = Adding()
    version = types.SimpleNamespace(model=model, model_name="m")

    async def run():
        runner = Runner(Metrics())
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED.*0.05 s"):
            await runner.run(version, call(1), 0.05)
        model.gate.set()
        answer = await runner.run(version, call(1), 5)
        assert await runner.beside(True, len, "abc") == 3
        runner.close()
        return answer

    assert asyncio.run(run()) == [2]
