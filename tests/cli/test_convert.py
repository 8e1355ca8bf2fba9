import json
from pathlib import Path

import pytest

import keras_albert.conversion
from keras_albert.conversion.report import ConversionReport

CONVERSION = "keras_albert.conversion"
REPORT = ConversionReport(
    loaded={f"w{i}": f"v{i}" for i in range(1234)},
    skipped={"global_step": "counter of a training run"},
    kept={"qa_outputs.bias": "question answering head"},
    new=["pooler/kernel", "pooler/bias"],
    notes=["A note with [brackets]."],
    check={"pooled_output": 2e-7, "sequence_output": 3.4e-7},
)


def flat(result):
    return " ".join(result.output.split())


def test_options_reach_the_library(run_command, replace, tmp_path):
    convert = replace(CONVERSION, "convert", REPORT)

    result = run_command(
        *("convert", "hf://a/b", "out", "--to", "google", "--overwrite"),
        *("--tokenizer", "v.model", "--tolerance", "1e-3"),
        *("--report", tmp_path / "r.json"),
    )

    assert result.exit_code == 0, result.output
    assert convert.arguments == ("hf://a/b", Path("out"))
    assert convert.options == {
        "to": "google",
        "tokenizer": Path("v.model"),
        "tolerance": 1e-3,
        "overwrite": True,
    }
    values = json.loads((tmp_path / "r.json").read_text())
    assert ConversionReport(**values) == REPORT


def test_defaults(run_command, replace):
    convert = replace(CONVERSION, "convert", REPORT)

    run_command("convert", "source", "out")

    assert convert.options == {
        "to": "preset",
        "tokenizer": None,
        "tolerance": 1e-4,
        "overwrite": False,
    }


def test_what_people_see(run_command, replace):
    replace(CONVERSION, "convert", REPORT)

    text = flat(run_command("convert", "source", "out"))

    assert "loaded 1,234" in text
    assert "counter of a training run: global_step 1" in text
    assert "kept aside: question answering head: qa_outputs.bias 1" in text
    assert "A note with [brackets]." in text
    assert "Random until trained: pooler." in text
    assert "Greatest difference from the source: 3.4e-07" in text
    assert "(sequence_output; 2 outputs compared)" in text
    assert text.endswith("out (preset)")


def test_a_failed_check_is_one_red_line(run_command, replace):
    replace(CONVERSION, "convert", ValueError("differs by 0.1"))

    result = run_command("convert", "source", "out")

    assert (result.exit_code, result.stderr) == (1, "differs by 0.1\n")


def test_an_unknown_format_is_a_wrong_command_line(run_command):
    result = run_command("convert", "source", "out", "--to", "onnx")

    assert result.exit_code == 2
    assert "hugging_face" in result.output


@pytest.mark.parametrize("to", ["preset", "hugging_face"])
def test_a_real_conversion(run_command, golden, tmp_path, to):
    assert keras_albert.conversion.convert.__module__.endswith("converting")

    source = golden / "google_tf1" / "tiny_all"
    result = run_command("convert", source, tmp_path / "out", "--to", to)

    assert result.exit_code == 0, result.output
    assert "Greatest difference from the source" in flat(result)
    assert (tmp_path / "out" / "config.json").is_file()
