"""The command of the README, from text to answers, on a small scale."""

import json
import os
import subprocess
import sys

import pytest

STAGES = 5


def quickstart(output):
    return subprocess.run(
        [
            *(sys.executable, "-m", "keras_albert.cli.main", "quickstart"),
            *("--output", output, "--scale", "tiny"),
        ],
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.every_backend
def test_quickstart_runs_and_goes_on_where_it_was(tmp_path):
    output = tmp_path / "demo"

    first = quickstart(output)

    assert first.returncode == 0, first.stderr
    for number in range(1, STAGES + 1):
        assert f"{number}/{STAGES} " in first.stdout
    for part in ("token frequency", "chance", "naive Bayes", "majority class"):
        assert part in first.stdout
    assert (output / "served/reviews/1/saved_model.pb").is_file()
    history = output / "pretrained" / "history.jsonl"
    steps = [json.loads(line)["step"] for line in history.open()]
    assert steps[-1] == 6
    assert "cuda" not in first.stderr

    trained = history.stat().st_mtime_ns
    again = quickstart(output)

    assert again.returncode == 0, again.stderr
    assert history.stat().st_mtime_ns == trained
    assert (output / "served/reviews/2/saved_model.pb").is_file()


def test_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "pretrained").mkdir()
    note = tmp_path / "pretrained" / "note.txt"
    note.write_text("mine")

    result = quickstart(tmp_path)

    assert result.returncode == 1
    assert "holds other files" in result.stderr
    assert note.read_text() == "mine"
