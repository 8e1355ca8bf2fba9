from pathlib import Path

import pytest

import keras_albert.export
import keras_albert.serving  # noqa: F401
from keras_albert.cli.export import difference_line
from keras_albert.export.answer_checks import Differences
from keras_albert.export.saved_model import Export
from keras_albert.export.token_export import TokenExport

EXPORT = "keras_albert.export"
SERVING = "keras_albert.serving"


@pytest.fixture
def made(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "data").write_bytes(b"x" * 2_500_000)
    signatures = {"serving_default": {}, "classify": {}}
    return Export(tmp_path, signatures, Differences(1.6e-6, 2e-7, 0, 30))


@pytest.fixture
def write_bundle(replace):
    return replace(SERVING, "write_bundle", Path("served/deploy"))


def test_options_reach_the_library(run_command, replace, made, write_bundle):
    export = replace(EXPORT, "export_model", made)

    result = run_command(
        *("export", "--model", "model", "--output", "served/x"),
        *("--version", 3, "--no-verify", "--dtype", "bfloat16", "--no-bundle"),
    )

    assert result.exit_code == 0, result.output
    assert export.arguments == (Path("model"), Path("served/x"))
    report = export.options.pop("report")
    assert callable(report)
    assert export.options == {
        "version": 3,
        "verify": False,
        "dtype": "bfloat16",
    }
    output = result.output.replace("\n", "")
    assert "2.5 MB" in output
    assert "Signatures: classify, serving_default" in output
    assert write_bundle.options is None  # not called


def test_defaults(run_command, replace, made, write_bundle):
    export = replace(EXPORT, "export_model", made)

    result = run_command("export", "model")

    assert export.arguments == (Path("model"), Path("served/albert"))
    assert export.options["version"] is None
    assert export.options["verify"]
    assert export.options["dtype"] == "float32"
    assert write_bundle.arguments == (Path("served/albert"),)
    output = result.output.replace("\n", "")
    assert "served/deploy/README.md" in output
    assert "by 2e-06 at most and 2e-07 on average." in output


def test_output_of_finetune_is_found(
    run_command, replace, made, write_bundle, tmp_path
):
    (tmp_path / "preset").mkdir()
    export = replace(EXPORT, "export_model", made)

    run_command("export", tmp_path)

    assert export.arguments[0] == tmp_path / "preset"


@pytest.mark.parametrize("models", [[], ["model", "--model", "model"]])
def test_the_model_is_given_once(run_command, models):
    result = run_command("export", *models)

    assert result.exit_code == 2
    assert "Give the model once" in result.output


def test_failed_check_is_one_red_line(run_command, replace):
    replace(EXPORT, "export_model", ValueError("differs by 0.1"))

    result = run_command("export", "model")

    assert result.exit_code == 1
    assert result.stderr == "differs by 0.1\n"


def test_a_name_that_cannot_be_served_is_told_first(run_command, replace):
    export = replace(EXPORT, "export_model", None)

    result = run_command("export", "model", "--output", "served/my model")

    assert result.exit_code == 1
    assert "'my model' becomes the model's name" in result.stderr
    assert export.options is None  # not called


def test_changed_labels_are_told_for_rounded_weights():
    line = difference_line(Differences(0.021, 0.0012, 1, 30), "bfloat16")

    assert line == (
        "Differs from the float32 model by 0.02 at most and 0.001 on average; "
        "1 of 30 labels changed."
    )


@pytest.mark.parametrize("format", ["onnx", "litert", "torch"])
def test_formats_of_token_ids(run_command, replace, tmp_path, format):
    file = tmp_path / "model.bin"
    file.write_bytes(b"x" * 2_500_000)
    export = replace(
        EXPORT, "export_token_model", TokenExport(tmp_path, file, 1.6e-6)
    )

    result = run_command(
        *("export", "model", "--output", "out/x", "--format", format),
        *("--version", 3, "--no-verify"),
    )

    assert result.exit_code == 0, result.output
    assert export.arguments == (Path("model"), Path("out/x"))
    assert callable(export.options.pop("report"))
    assert export.options == {"format": format, "version": 3, "verify": False}
    output = result.output.replace("\n", "")
    assert "2.5 MB" in output
    assert "by 2e-06 at most." in output


def test_formats_of_token_ids_are_float32(run_command, replace):
    export = replace(EXPORT, "export_token_model", None)

    result = run_command(
        *("export", "model", "--format", "onnx", "--dtype", "bfloat16")
    )

    assert result.exit_code == 2
    assert "float32 only" in result.output
    assert export.options is None  # not called
