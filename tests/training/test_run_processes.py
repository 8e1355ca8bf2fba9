import pytest

from keras_albert.training import run_processes
from keras_albert.training.distribution import Distribution

SETTINGS = {"seed": 1}


class Process(Distribution):
    """One of two processes; the other answers as it is told."""

    num_processes = 2

    def __init__(self, index, other=1):
        self.process_index = index
        self.other = other

    def gather(self, value):
        values = [value, self.other]
        return values if self.is_chief else values[::-1]


def test_the_chief_claims_and_the_other_finds(tmp_path):
    output = tmp_path / "out"
    folder = run_processes.claim_together(Process(0), output, SETTINGS)
    found = run_processes.claim_together(Process(1), output, SETTINGS)

    assert folder.settings.is_file()
    assert found == folder


def test_a_process_that_does_not_see_the_folder_ends_all(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"\[1\] do not see.*share"):
        run_processes.claim_together(Process(1), tmp_path / "out", SETTINGS)
    with pytest.raises(FileNotFoundError, match=r"\[1\] do not see"):
        run_processes.claim_together(
            Process(0, other=0), tmp_path / "chief", SETTINGS
        )


def test_others_write_to_a_folder_that_is_forgotten(tmp_path):
    folder = run_processes.claim_together(Process(0), tmp_path / "o", SETTINGS)
    with run_processes.own_folder(Process(0), folder) as own:
        assert own == folder
    with run_processes.own_folder(Process(1), folder) as own:
        assert own.path.is_dir()
        assert own.path != folder.path
    assert not own.path.exists()


def test_processes_must_start_at_one_step():
    run_processes.check_same_start(Process(0, other=5), 5)
    with pytest.raises(RuntimeError, match=r"\[5, 4\]"):
        run_processes.check_same_start(Process(0, other=4), 5)
