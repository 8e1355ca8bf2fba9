"""TensorFlow's strategies: two replicas, and two workers, equal one device."""

import json

import numpy as np
import pytest

from keras_albert.layers.dropout import dropout_source
from keras_albert.models import own_rows
from keras_albert.training.distribution import Distribution
from keras_albert.training.seeding import seed_dropout
from tests.training import distribution_cases as cases
from tests.training import launching

ONE = Distribution()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def mirrored(folder):
    launching.launch([{}], [folder, "mirrored", 2])
    return launching.results(folder, "mirrored")


def two_workers():
    addresses = [f"127.0.0.1:{port}" for port in launching.free_ports(2)]
    return [
        {
            "TF_CONFIG": json.dumps(
                {
                    "cluster": {"worker": addresses},
                    "task": {"type": "worker", "index": index},
                }
            )
        }
        for index in range(2)
    ]


@pytest.fixture(scope="module")
def workers(folder):
    # The last thing that process 1 does is to be killed.
    launching.launch(two_workers(), [folder, "multi_worker"], [0, -9])
    return [launching.results(folder, "multi_worker", i) for i in range(2)]


@pytest.fixture(scope="module")
def alone():
    return cases.train(ONE, "lamb", dropout=False)


def test_two_replicas_clip_and_accumulate_as_one_device(mirrored, alone):
    launching.assert_alike(mirrored, alone, "lamb")


def test_two_replicas_evaluate_and_predict_every_row(mirrored, alone):
    launching.assert_all_rows(
        mirrored, *cases.evaluate_and_predict(ONE, alone["model"])
    )


def test_replicas_sum_the_gradients_of_their_rows(mirrored):
    """With dropout: each replica's rows under the masks it draws itself."""
    import tensorflow as tf

    inputs, targets, weights = cases.batch(0)
    model = cases.make_model("sgd")
    start = [v.numpy() for v in model.trainable_variables]
    sums, loss = [0.0] * len(start), 0.0
    for replica in range(2):
        seed_dropout(model, seed=1)
        rows = slice(8 * replica, 8 * replica + 8)

        def uniform(shape, seed, shift=replica):
            moved = tf.cast(seed, tf.int32) + [
                shift * own_rows._REPLICA_STRIDE,
                0,
            ]
            return tf.random.stateless_uniform(shape, moved)

        with tf.GradientTape() as tape, dropout_source(uniform):
            own = {k: v[rows] for k, v in inputs.items()}
            outputs = model(own, training=True)
            part = 0.0
            for head, logits in outputs.items():
                costs = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    targets[head][rows], logits
                )
                total = np.sum(weights[head])
                part += tf.reduce_sum(costs * weights[head][rows]) / total
        found = tape.gradient(part, [v.value for v in model.trainable_weights])
        sums = [
            a + tf.convert_to_tensor(b).numpy()
            for a, b in zip(sums, found, strict=True)
        ]
        loss += float(part)

    np.testing.assert_allclose(mirrored["sgd/loss"], [loss], rtol=1e-5)
    for index, (before, gradient) in enumerate(zip(start, sums, strict=True)):
        np.testing.assert_allclose(
            mirrored[f"sgd/weights/{index:02d}"], before - gradient, atol=1e-5
        )


def test_float16_clips_and_accumulates_as_one_device(mirrored):
    alone = cases.train(ONE, "lamb", dropout=False, dtype="mixed_float16")
    launching.assert_alike(mirrored, alone, "float16", tolerance=2e-4)


def test_an_overflow_on_one_device_moves_no_weight(mirrored):
    change, scale = mirrored["float16/overflow"]

    assert change == 0
    assert scale == 0.25  # halved in each of two steps


def test_two_workers_evaluate_and_predict_every_row(workers):
    model = cases.make_model("sgd")
    expected = cases.evaluate_and_predict(ONE, model)
    for found in workers:
        launching.assert_all_rows(found, *expected)


def test_two_workers_pretrain_stop_and_go_on_as_one_device(
    workers, folder, tmp_path
):
    alone = cases.pretrain(tmp_path / "alone")
    expected = [record["val_loss"] for record in alone.history]
    for found in workers:
        assert found["run/resumed_from"] == 10
        np.testing.assert_allclose(found["run/val_loss"], expected, rtol=1e-5)
    launching.assert_same_run(folder / "multi_worker_run", tmp_path / "alone")


def test_processes_with_unlike_settings_do_not_start(workers):
    for found in workers:
        assert "seed is 0 in process 0, 1 in process 1" in str(found["unlike"])


def test_a_killed_process_ends_the_other_with_an_error(workers):
    error = str(workers[0]["lost/error"])
    assert "Another process of the run has ended" in error
    assert "go on from the last state" in error
    assert workers[0]["lost/seconds"] < 60


def test_two_command_lines_are_one_run(tmp_path):
    launching.write_inputs(tmp_path)
    stopped, finished = (
        launching.run_command_lines(
            two_workers(), "multi_worker", tmp_path, stop=stop
        )
        for stop in (True, False)
    )
    launching.assert_one_run(stopped, finished, tmp_path)


def test_several_workers_need_addresses(monkeypatch):
    from keras_albert.training.distribution import distribute

    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="at least two workers in TF_CONFIG"):
        distribute("multi_worker")


def test_a_missing_tpu_is_said_in_one_sentence(monkeypatch):
    from keras_albert.training.distribution import distribute

    monkeypatch.delenv("TPU_NAME", raising=False)
    with pytest.raises(ConnectionError, match="No TPU answers.*data_parallel"):
        distribute("tpu")
