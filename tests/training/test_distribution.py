"""Names and environments; what devices compute is tested per backend."""

import keras
import pytest

from keras_albert.training.distribution import NAMES
from keras_albert.training.distribution import Distribution
from keras_albert.training.distribution import check_name
from keras_albert.training.distribution import cluster_workers
from keras_albert.training.distribution import distribute
from tests.training import distribution_cases

every_backend = pytest.mark.every_backend


@every_backend
def test_this_machine_has_one_device():
    distribution = distribute()

    assert str(distribution) == "none on 1 device(s)"
    assert distribution.is_chief
    assert distribution.gather(7) == [7]
    assert distribution.gather_texts("größer") == ["größer"]
    assert distribution.agree(True, 3)
    assert not distribution.agree(False, 0)


@every_backend
@pytest.mark.parametrize("name", ["auto", "none"])
def test_shards_of_an_unsplit_model_are_refused(name):
    with pytest.raises(ValueError, match="Only with model_parallel .*=2"):
        distribute(name, model_shards=2)


@every_backend
def test_names_of_other_backends_are_refused():
    backend = keras.backend.backend()
    known = {
        "tensorflow": {"mirrored", "multi_worker", "tpu"},
        "jax": {"data_parallel", "model_parallel"},
        "torch": set(),
    }[backend]
    for name in NAMES:
        if name in {"auto", "none"} | known:
            check_name(name)
            continue
        expected = "one device under PyTorch" if backend == "torch" else backend
        with pytest.raises(ValueError, match=expected):
            distribute(name)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match="auto, none, mirrored, multi_worker"):
        distribute("horovod")


def test_workers_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert cluster_workers() == []
    monkeypatch.setenv(
        "TF_CONFIG", '{"cluster": {"chief": ["a:1"], "worker": ["b:2"]}}'
    )
    assert cluster_workers() == ["a:1", "b:2"]
    monkeypatch.setenv("TF_CONFIG", "cluster=a:1")
    with pytest.raises(ValueError, match="TF_CONFIG is not the JSON"):
        cluster_workers()


def test_workers_get_rows_of_their_own():
    parts = []
    for index in range(2):
        worker = Distribution()
        worker.num_workers, worker.worker_index = 2, index
        parts += worker.own_rows(
            distribution_cases.dataset([5])
        ).as_numpy_iterator()

    inputs, _, weights = distribution_cases.batch(5)
    for index, part in enumerate(parts):
        rows = slice(8 * index, 8 * index + 8)
        assert (part[0]["token_ids"] == inputs["token_ids"][rows]).all()
        assert (part[2]["masked_lm"] == weights["masked_lm"][rows]).all()


def test_texts_of_several_processes_keep_their_lengths():
    class Two(Distribution):
        num_processes = 2

        def _gather_all(self, values):
            if len(values) == 1:
                return [values, [5]]
            return [values, list(b"short") + [0] * (len(values) - 5)]

    assert Two().gather_texts("größer") == ["größer", "short"]


def test_a_lost_process_is_said_in_one_sentence():
    class Two(Distribution):
        num_processes = 2

        def _is_lost_process(self, error):
            return isinstance(error, RuntimeError)

    engine = "Graph execution error:\n\nCollective ops is aborted by: task 1"
    match = "says: Collective ops"
    with (
        pytest.raises(ConnectionResetError, match=match),
        Two().watch_processes(),
    ):
        raise RuntimeError(engine)
    with pytest.raises(KeyError), Two().watch_processes():
        raise KeyError
    with pytest.raises(RuntimeError), Distribution().watch_processes():
        raise RuntimeError(engine)


def test_devices_that_share_a_model_are_counted():
    both = Distribution()
    both.name, both.num_processes, both.model_shards = "model_parallel", 2, 4

    assert str(both) == "model_parallel on 4 devices of 2 processes"


def test_several_processes_ask_each_other_at_every_tenth_step():
    asked = []

    class Two(Distribution):
        num_processes = 2

        def _gather_all(self, values):
            asked.append(*values)
            return [values, [1]]

    assert [Two().agree(False, step) for step in (9, 10, 11, 20)] == [
        False,
        True,
        False,
        True,
    ]
    assert asked == [0, 0]
