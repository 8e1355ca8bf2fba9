from pathlib import Path

import pytest

from keras_albert.cli import quickstart_report
from keras_albert.cli import quickstart_stages

STAGES = "keras_albert.cli.quickstart_stages"


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr(quickstart_report, "report", lambda *_: None)


def test_defaults(run_command, replace):
    run_stages = replace(STAGES, "run_stages")

    result = run_command("quickstart")

    assert result.exit_code == 0, result.output
    assert run_stages.arguments == (
        Path("albert_quickstart"),
        quickstart_stages.PLANS["full"],
    )
    assert list(run_stages.options["seeds"]) == [0]


def test_five_seeds(run_command, replace):
    run_stages = replace(STAGES, "run_stages")

    run_command("quickstart", "--seeds", 5, "--seed", 2)

    assert list(run_stages.options["seeds"]) == [2, 3, 4, 5, 6]


def test_interruption_says_how_to_go_on(run_command, replace):
    replace(STAGES, "run_stages", KeyboardInterrupt())

    result = run_command("quickstart", "--output", "here")

    assert result.exit_code == 130
    assert "here keeps what is done" in result.stderr


def test_without_snownlp_it_says_what_to_install(run_command, replace):
    replace(STAGES, "run_stages", ImportError('pip install "x[demo]"'))

    result = run_command("quickstart")

    assert result.exit_code == 1
    assert result.stderr == 'pip install "x[demo]"\n'
