"""The compiled step is the one that `fit` makes, and its figures are right."""

import importlib.util
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import state_bytes
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_estimate import temporary_bytes
from keras_albert.training.plan_settings import planned_settings

pytestmark = pytest.mark.every_backend

# Wide enough for matrix products to count.
CONFIG = {
    "num_layers": 2,
    "num_heads": 2,
    "embedding_dim": 64,
    "hidden_dim": 128,
    "intermediate_dim": 512,
    "max_sequence_length": 128,
    "vocabulary_size": 500,
}
LENGTH = 128
BATCH = 8


@pytest.fixture(scope="module", autouse=True)
def _jax():
    if keras.backend.backend() != "jax":
        pytest.skip("plans are compiled by JAX")


@pytest.fixture(scope="module")
def run():
    return planned_settings(
        config=CONFIG,
        batch_size=BATCH,
        sequence_length=LENGTH,
        steps=10,
    )


@pytest.fixture(scope="module")
def model(run):
    from keras_albert.training.run_model import make_run_model

    return make_run_model(run, tokenizer=None)


@pytest.fixture(scope="module")
def program(model):
    import jax

    from keras_albert.training.plan_compile import batch_shapes
    from keras_albert.training.plan_compile import compile_step

    return compile_step(model, batch_shapes(BATCH, LENGTH), jax.devices()[:1])


@pytest.fixture(scope="module")
def shape(run):
    return StepShape(run.backbone, BATCH, LENGTH, 20)


def batch_of_noise():
    generator = np.random.default_rng(3)
    inputs = {
        "token_ids": generator.integers(0, 500, (BATCH, LENGTH), "int32"),
        "segment_ids": np.zeros((BATCH, LENGTH), "int32"),
        "padding_mask": np.ones((BATCH, LENGTH), "int32"),
        "mask_positions": generator.integers(0, LENGTH, (BATCH, 20), "int32"),
    }
    targets = {
        "masked_lm": generator.integers(0, 500, (BATCH, 20), "int32"),
        "sentence_order": generator.integers(0, 2, (BATCH,), "int32"),
    }
    weights = {
        "masked_lm": np.ones((BATCH, 20), "float32"),
        "sentence_order": np.ones((BATCH,), "float32"),
    }
    return inputs, targets, weights


def test_the_program_makes_the_step_that_fit_makes(model, program):
    groups = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    # The program takes the place of its state.
    state = tuple([np.array(v.value) for v in group] for group in groups)
    batch = batch_of_noise()

    logs, (weights, *_) = program(state, batch)
    history = keras.Model.fit(
        model, (b for b in [batch]), steps_per_epoch=1, verbose=0, shuffle=False
    ).history

    assert float(logs["loss"]) == pytest.approx(history["loss"][0], rel=1e-5)
    for weight, variable in zip(
        weights, model.trainable_variables, strict=True
    ):
        np.testing.assert_allclose(weight, variable.value, atol=1e-6)


def test_the_formula_is_near_the_compilers_figures(program, shape):
    from keras_albert.training.plan_compile import read_costs

    costs = read_costs(program)

    # The compiler counts softmax, normalisation and AdamW too.
    assert 0.9 * costs.flops < step_flops(shape) <= costs.flops
    batch = 4 * BATCH * (4 * LENGTH + 3 * 20)
    assert costs.argument_bytes == pytest.approx(
        state_bytes(shape) + batch, rel=0.01
    )
    # All of the state is given back in its own place.
    assert costs.output_bytes < 2000
    # Fitted to TPUs, whose compiler fuses more than that of CPUs.
    assert 1 < costs.temporary_bytes / temporary_bytes(shape) < 3
    assert costs.collectives == {}
    assert costs.memory_bytes > costs.argument_bytes


TPU = """
import dataclasses, json, jax
from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_compile import *
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.run_model import make_run_model
devices = topology_devices(parse_topology("v5e:2x2"))
run = planned_settings(
    config={config}, batch_size=32, sequence_length=128, optimizer="lamb",
    steps=10, dtype="mixed_bfloat16",
)
program = compile_step(
    make_run_model(run, None), batch_shapes(32, 128), devices
)
print(json.dumps(dict(
    dataclasses.asdict(read_costs(program)),
    kernels=program.as_text().count("tpu_custom_call"),
)))
"""


def test_a_tpu_that_is_not_attached(run):
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip('needs the TPU compiler: pip install ".[tpu]"')
    import json

    done = subprocess.run(
        [sys.executable, "-c", TPU.replace("{config}", repr(CONFIG))],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    costs = json.loads(done.stdout.splitlines()[-1])

    # One kernel forward and one backward for each of two calls.
    assert costs["kernels"] == 4
    shape = StepShape(run.backbone, 8, 128, 20, keeps_scores=False)
    assert costs["flops"] == pytest.approx(step_flops(shape), rel=0.1)
    # Gradients of the shared weights, once each, and a few sums.
    gradients = 4 * num_parameters(run.backbone)
    sent = sum(found["bytes"] for found in costs["collectives"].values())
    assert gradients <= sent < gradients + 1000
