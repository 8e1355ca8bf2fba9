"""JAX on 2 and 8 devices and in 2 processes equals one device."""

import keras
import numpy as np
import pytest

from keras_albert.training.distribution import Distribution
from tests.training import distribution_cases as cases
from tests.training import launching

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.skipif(
        keras.backend.backend() != "jax", reason="tests JAX's own devices"
    ),
]
ONE = Distribution()
# Compiling takes most of the time; the numbers stay the same.
FLAGS = (
    "--xla_force_host_platform_device_count={} "
    "--xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def devices(folder):
    """One program that trains on 2 devices, on 8, and on 4 × 2."""
    launching.launch([{"XLA_FLAGS": FLAGS.format(8)}], [folder, "jax"])
    return launching.results(folder, "jax")


@pytest.fixture(scope="module")
def processes(folder):
    (port,) = launching.free_ports(1)
    environments = [
        {
            "XLA_FLAGS": FLAGS.format(1),
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{port}",
            "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
            "KERAS_DISTRIBUTION_PROCESS_ID": str(index),
        }
        for index in range(2)
    ]
    launching.launch(environments, [folder, "data_parallel"])
    return [launching.results(folder, "data_parallel", i) for i in range(2)]


@pytest.fixture(scope="module")
def alone():
    return {
        "sgd": cases.train(ONE, "sgd", steps=1),
        "lamb": cases.train(ONE, "lamb"),
    }


def test_two_devices_give_the_gradients_of_one(devices, alone):
    """With dropout: all devices together draw the masks of one."""
    launching.assert_alike(devices, alone["sgd"], "2/sgd")


@pytest.mark.parametrize("name", ["8/lamb", "4x2/lamb"])
def test_devices_clip_and_accumulate_as_one(devices, alone, name):
    launching.assert_alike(devices, alone["lamb"], name)


def test_devices_evaluate_and_predict_every_row(devices, alone):
    launching.assert_all_rows(
        devices, *cases.evaluate_and_predict(ONE, alone["lamb"]["model"])
    )


def test_weights_are_split_where_the_model_is_parallel(devices):
    assert devices["4x2/share"] == 0.5


@pytest.mark.parametrize("unroll", [0, 1])
def test_each_shared_gradient_crosses_the_network_once(devices, unroll):
    """In the compiled step: all weights once, and a few scalars of logs."""
    numbers = devices[f"reduced/{unroll}"]
    model = cases.make_model("sgd")

    assert numbers[numbers > 1].sum() == model.count_params()
    assert numbers[numbers == 1].sum() < 20


def test_two_processes_evaluate_and_predict_every_row(processes):
    model = cases.make_model("sgd")
    expected = cases.evaluate_and_predict(ONE, model)
    for found in processes:
        launching.assert_all_rows(found, *expected)


def test_two_processes_pretrain_stop_and_go_on_as_one_device(
    processes, folder, tmp_path
):
    alone = cases.pretrain(tmp_path / "alone")
    expected = [record["val_loss"] for record in alone.history]
    for found in processes:
        assert found["run/resumed_from"] == 10
        np.testing.assert_allclose(found["run/val_loss"], expected, rtol=1e-5)
    run = folder / "data_parallel_run"
    launching.assert_same_steps(run, tmp_path / "alone")
    # The other process wrote nothing there.
    names = {path.name for path in run.iterdir()}
    assert names == {path.name for path in (tmp_path / "alone").iterdir()}


def test_shards_must_divide_the_devices():
    from keras_albert.training.distribution import distribute

    with pytest.raises(ValueError, match="model_shards=3, devices=1"):
        distribute("model_parallel", model_shards=3)
