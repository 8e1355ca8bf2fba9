import pytest

from keras_albert.training import preflight
from keras_albert.training.distribution import Distribution
from keras_albert.training.phases import PhaseSpan


class Devices(Distribution):
    """Devices that are only counted."""

    def __init__(self, num_replicas=1, model_shards=1, remote=False):
        self.num_replicas = num_replicas
        self.model_shards = model_shards
        self.has_remote_devices = remote


def span(batch_size):
    return PhaseSpan(
        index=0,
        start=0,
        stop=9,
        sequence_length=16,
        batch_size=batch_size,
        num_layers=None,
    )


@pytest.mark.parametrize("size, replicas, parts", [(8, 4, 1), (8, 2, 4)])
def test_batches_that_divide_pass(size, replicas, parts):
    preflight.check_batches(Devices(replicas), [span(size)], parts)


@pytest.mark.parametrize(
    "size, replicas, parts, proposal",
    [
        (30, 4, 1, "28 or 32"),
        (3, 4, 1, "size of 4"),
        (12, 2, 4, "accumulate=4. Take a batch size of 8 or 16"),
    ],
)
def test_batches_that_do_not_divide_are_refused(
    size, replicas, parts, proposal
):
    with pytest.raises(ValueError, match=proposal):
        preflight.check_batches(
            Devices(replicas), [span(replicas * parts), span(size)], parts
        )


def test_heads_that_do_not_divide_are_refused():
    preflight.check_model_shards(Devices(model_shards=4), {"num_heads": 12})
    with pytest.raises(ValueError, match=r"\[1, 2, 3, 4, 6, 12\]"):
        preflight.check_model_shards(Devices(model_shards=8), {"num_heads": 12})


def test_a_folder_to_come_is_tried_and_left_alone(tmp_path):
    preflight.check_paths(Devices(), written=[tmp_path / "a" / "b"])

    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(PermissionError, match=r"file/out"):
        preflight.check_paths(Devices(), written=[file / "out"])


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        preflight.check_paths(Devices(), written=[], read=["nowhere"])


def test_remote_devices_need_remote_paths(tmp_path):
    remote = Devices(remote=True)
    preflight.check_paths(remote, written=["gs://a/b"], read=["gs://a/c"])
    with pytest.raises(ValueError, match="gs:// paths only.*TPU VM"):
        preflight.check_paths(remote, written=["gs://a/b"], read=[tmp_path])


def test_a_step_that_does_not_fit_is_refused_with_a_batch_that_does():
    def needed(examples):
        return 100 + 10 * examples

    preflight.check_memory(needed, 500, batch_size=40)
    preflight.check_memory(needed, None, batch_size=4000)
    preflight.check_memory(needed, 500, batch_size=320, num_replicas=8)
    with pytest.raises(ValueError, match="--batch-size 80,"):
        preflight.check_memory(needed, 200, batch_size=320, num_replicas=8)


@pytest.mark.every_backend
def test_this_machine_has_memory():
    assert preflight.device_memory() > 2**20
