import types

import pytest

from keras_albert.training import run_processes
from keras_albert.training.distribution import Distribution
from keras_albert.training.phases import Phase
from keras_albert.training.phases import phase_spans
from keras_albert.training.plan_estimate import num_parameters

SETTINGS = {"seed": 1}


class Process(Distribution):
    """One of two processes; the other answers as it is told."""

    num_processes = 2

    def __init__(self, index, other=1):
        self.process_index = index
        self.other = other

    def _gather_all(self, values):
        rows = [values, [self.other] * len(values)]
        return rows if self.is_chief else rows[::-1]


class Telling(Process):
    """One of two processes; the other passes a text."""

    def gather_texts(self, text):
        texts = [text, self.other]
        return texts if self.is_chief else texts[::-1]


class Seeing(Process):
    """One of two processes; the other is ready and sees the folder or not."""

    def gather_texts(self, text):
        return [text, ""]


def test_what_ends_one_process_ends_all():
    with (
        pytest.raises(ConnectionAbortedError, match="Process 1 ended: no disk"),
        run_processes.ready_together(Telling(0, other="no disk")),
    ):
        pass
    told = []

    class Listening(Telling):
        def gather_texts(self, text):
            told.append(text)
            return [text, ""]

    with (
        pytest.raises(ZeroDivisionError),
        run_processes.ready_together(Listening(0)),
    ):
        raise ZeroDivisionError("division by zero")
    assert told == ["division by zero"]


def test_settings_must_be_the_same_in_all_processes():
    run_processes.check_same_settings(Telling(1, other='{"seed": 1}'), SETTINGS)
    for index in range(2):
        with pytest.raises(ValueError, match="seed is . in process 0, . in"):
            run_processes.check_same_settings(
                Telling(index, other='{"seed": 2}'), SETTINGS
            )


def test_the_chief_claims_and_the_other_finds(tmp_path):
    output = tmp_path / "out"
    folder = run_processes.claim_together(Seeing(0), output, SETTINGS)
    found = run_processes.claim_together(Seeing(1), output, SETTINGS)

    assert folder.settings.is_file()
    assert found == folder


def test_a_process_that_does_not_see_the_folder_ends_all(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"\[1\] do not see.*share"):
        run_processes.claim_together(Seeing(1), tmp_path / "out", SETTINGS)
    with pytest.raises(FileNotFoundError, match=r"\[1\] do not see"):
        run_processes.claim_together(
            Seeing(0, other=0), tmp_path / "chief", SETTINGS
        )


def test_others_write_to_a_folder_that_is_forgotten(tmp_path):
    folder = run_processes.claim_together(Seeing(0), tmp_path / "o", SETTINGS)
    with run_processes.own_folder(Process(0), folder) as own:
        assert own == folder
    with run_processes.own_folder(Process(1), folder) as own:
        assert own.path.is_dir()
        assert own.path != folder.path
    assert not own.path.exists()


def test_processes_must_start_at_one_step():
    run_processes.check_same_start(Process(0, other=5), 5)
    with pytest.raises(OSError, match=r"\[5, 4\]"):
        run_processes.check_same_start(Process(0, other=4), 5)


@pytest.fixture
def settings():
    return types.SimpleNamespace(
        spans=[phase_spans([Phase(16)], steps=9, batch_size=8)[0]],
        accumulate=1,
        optimizer={"name": "adamw"},
        backbone={
            "vocabulary_size": 13,
            "num_layers": 2,
            "num_heads": 2,
            "embedding_dim": 8,
            "hidden_dim": 16,
            "intermediate_dim": 24,
        },
    )


def test_a_run_that_fits_its_devices_passes(settings, tmp_path):
    run_processes.check_devices(Distribution(), settings, tmp_path / "out")


def test_a_run_is_checked_against_its_devices(settings, tmp_path):
    devices = Distribution()
    devices.num_replicas = 3
    with pytest.raises(ValueError, match="6 or 9"):
        run_processes.check_devices(devices, settings, tmp_path / "out")
    devices = Distribution()
    devices.has_remote_devices = True
    with pytest.raises(ValueError, match=r"corpus\.txt"):
        run_processes.check_devices(
            devices, settings, "gs://bucket/out", read=["corpus.txt"]
        )


def test_a_step_larger_than_the_memory_is_refused(
    settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        run_processes.preflight, "device_memory", lambda: 100_000
    )
    settings.spans[0] = phase_spans([Phase(16)], steps=9, batch_size=800)[0]
    with pytest.raises(ValueError, match="--batch-size"):
        run_processes.check_devices(Distribution(), settings, tmp_path / "out")


def test_averages_are_memory_too(settings):
    plain = run_processes._step_bytes(settings, settings.spans[0], 8)
    settings.optimizer["ema_momentum"] = 0.99
    averaged = run_processes._step_bytes(settings, settings.spans[0], 8)

    assert averaged - plain == 4 * num_parameters(settings.backbone)
