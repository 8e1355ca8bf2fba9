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


def two_processes(devices):
    (port,) = launching.free_ports(1)
    return [
        {
            "XLA_FLAGS": FLAGS.format(devices),
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{port}",
            "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
            "KERAS_DISTRIBUTION_PROCESS_ID": str(index),
        }
        for index in range(2)
    ]


@pytest.fixture(scope="module")
def processes(folder):
    """Two processes with two devices each."""
    launching.launch(two_processes(2), [folder, "data_parallel"])
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


def test_float16_clips_and_accumulates_as_one_device(devices):
    alone = cases.train(ONE, "lamb", dropout=False, dtype="mixed_float16")
    launching.assert_alike(devices, alone, "float16", tolerance=2e-4)


def test_an_overflow_on_one_device_moves_no_weight(devices):
    change, scale = devices["float16/overflow"]

    assert change == 0
    assert scale == 0.25  # halved in each of two steps


def test_weights_are_split_where_the_model_is_parallel(devices):
    assert devices["4x2/share"].tolist() == [0.5, 0.5]


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


@pytest.fixture(scope="module")
def pretrained_alone(tmp_path_factory):
    return cases.pretrain(tmp_path_factory.mktemp("alone") / "run")


@pytest.mark.parametrize(
    "name, prefix", [("data_parallel", "run"), ("model_parallel", "4_shards")]
)
def test_two_processes_pretrain_stop_and_go_on_as_one_device(
    processes, folder, pretrained_alone, name, prefix
):
    """With averages; the last split over both processes, one wrote whole."""
    prefix = "" if prefix == "run" else f"{prefix}/"
    expected = [record["val_loss"] for record in pretrained_alone.history]
    for found in processes:
        assert found[f"{prefix}run/resumed_from"] == 10
        np.testing.assert_allclose(
            found[f"{prefix}run/val_loss"], expected, rtol=1e-5
        )
    launching.assert_same_run(
        folder / f"{name}_run", pretrained_alone.preset.parent
    )


@pytest.mark.parametrize("shards, share", [(2, 0.5), (4, 0.25)])
def test_processes_split_models_and_equal_one_device(
    processes, alone, shards, share
):
    """Each a copy of the model on its two devices; both one copy on four."""
    expected = cases.evaluate_and_predict(ONE, alone["lamb"]["model"])
    for found in processes:
        launching.assert_alike(found, alone["lamb"], f"{shards}_shards/lamb")
        launching.assert_all_rows(found, *expected, f"{shards}_shards/")
        assert found[f"{shards}_shards/share"].tolist() == [share, share]


def test_processes_with_unlike_settings_do_not_start(processes):
    for found in processes:
        assert "seed is 0 in process 0, 1 in process 1" in str(found["unlike"])


def test_two_command_lines_are_one_run(tmp_path):
    launching.write_inputs(tmp_path)
    stopped, finished = (
        launching.run_command_lines(
            two_processes(1), "data_parallel", tmp_path, stop=stop
        )
        for stop in (True, False)
    )
    launching.assert_one_run(stopped, finished, tmp_path)


def test_shards_must_divide_the_devices():
    from keras_albert.training.distribution import distribute

    with pytest.raises(ValueError, match="model_shards=3, devices=1"):
        distribute("model_parallel", model_shards=3)
    with pytest.raises(TypeError, match="model_shards=1.0"):
        distribute("model_parallel", model_shards=1.0)
