from pathlib import Path

import pytest

import keras_albert.export  # noqa: F401

EXPORT = "keras_albert.export"


@pytest.fixture
def served(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "data").write_bytes(b"x" * 2_500_000)
    return tmp_path


def test_options_reach_the_library(run_command, replace, served):
    export = replace(EXPORT, "export_saved_model", served)

    result = run_command(
        *("export", "model", "--output", "served/x", "--version", 3),
        "--no-verify",
    )

    assert result.exit_code == 0, result.output
    assert export.arguments == (Path("model"), Path("served/x"))
    assert export.options == {"version": 3, "verify": False}
    assert "2.5 MB" in result.output.replace("\n", "")


def test_defaults(run_command, replace, served):
    export = replace(EXPORT, "export_saved_model", served)

    run_command("export", "model")

    assert export.arguments == (Path("model"), Path("served/albert"))
    assert export.options == {"version": None, "verify": True}


def test_output_of_finetune_is_found(run_command, replace, served, tmp_path):
    (tmp_path / "preset").mkdir()
    export = replace(EXPORT, "export_saved_model", served)

    run_command("export", tmp_path)

    assert export.arguments[0] == tmp_path / "preset"


def test_failed_check_is_one_red_line(run_command, replace):
    replace(EXPORT, "export_saved_model", ValueError("differs by 0.1"))

    result = run_command("export", "model")

    assert result.exit_code == 1
    assert result.stderr == "differs by 0.1\n"
