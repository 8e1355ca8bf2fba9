import json
import re

import pytest

BASE = (
    "plan",
    "--size",
    "albert_base",
    "--sequence-length",
    512,
    "--dtype",
    "mixed_bfloat16",
    "--no-compile",
)


def test_a_plan_is_printed(run_command):
    result = run_command(
        *BASE,
        *("--batch-size", 128, "--topology", "v5e:2x2"),
        *("--num-examples", 12800, "--price-per-core-hour", 3600),
    )

    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "v5e:2x2, 4 cores" in text
    assert "11,813,810" in text
    assert "at once on a core 32 " in text
    assert "all-reduce 47.3 MB" in text
    assert "Estimated by formula" in text
    # An epoch is 100 updates; 4 cores at 1 a second each.
    update = float(re.search(r"an update ([\d.]+) ms", text).group(1))
    price = float(re.search(r"its price ([\d.]+)", text).group(1))
    assert price == pytest.approx(100 * update / 1000 * 4, rel=0.01)


def test_json_has_all_figures(run_command):
    result = run_command(
        *BASE, "--batch-size", 32, "--topology", "v5e:1x1", "--json"
    )

    read = json.loads(result.stdout)
    assert read["machine"]["name"] == "v5e:1x1"
    (phase,) = read["phases"]
    assert phase["method"] == "estimated"
    assert phase["memory"]["total"] > phase["memory"]["state"]


def test_what_does_not_fit_ends_with_1(run_command):
    result = run_command(*BASE, "--batch-size", 4096, "--topology", "v5e:1x1")

    assert result.exit_code == 1
    assert "does not fit" in result.output


def test_a_wrong_line_is_explained(run_command):
    result = run_command(*BASE, "--batch-size", 30, "--topology", "v5e:2x2")

    assert result.exit_code == 1
    assert "Take a batch size of 28 or 32" in result.output


def test_phases_and_averages_are_taken_as_pretrain_takes_them(run_command):
    line = (
        *("plan", "--size", "albert_base", "--no-compile", "--json"),
        *("--topology", "v5e:1x1", "--steps", 100),
        *("--phases", "128x32@6:90%,512x8:10%"),
    )
    usual = json.loads(run_command(*line).stdout)
    averaged = json.loads(run_command(*line, "--ema-momentum", 0.999).stdout)

    assert [phase["steps"] for phase in usual["phases"]] == [90, 10]
    assert [phase["num_layers"] for phase in usual["phases"]] == [6, 12]
    more = (
        averaged["phases"][0]["memory"]["state"]
        - usual["phases"][0]["memory"]["state"]
    )
    assert more == 4 * usual["num_parameters"]


def test_wrong_phases_are_explained_as_by_pretrain(run_command):
    result = run_command(*BASE, "--phases", "128x8")

    assert result.exit_code == 1
    assert "LENGTH[xBATCH][+…][@LAYERS]:SHARE%" in result.output


def test_a_compiler_that_fails_is_told_in_one_line(run_command, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setenv("JAX_PLATFORMS", "no_such_platform")
    line = (arg for arg in BASE if arg != "--no-compile")

    result = run_command(*line, "--steps", 3)

    assert result.exit_code == 1
    assert "The compiler's process failed" in result.output
    assert "--no-compile" in result.output
