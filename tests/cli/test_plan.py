import json
import re

import pytest

from keras_albert.cli.plan import binary
from keras_albert.cli.plan import si
from keras_albert.cli.plan import time

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
    assert "v5e:2x2 (4 cores)" in text
    assert "11,813,810" in text
    assert "32 examples on a core at a time" in text
    assert "all-reduce 1 a step, 47.3 MB together" in text
    assert "Estimated by formula" in text
    # An epoch is 100 updates; 4 cores at 1 a second each.
    update = float(re.search(r"update takes ([\d.]+) ms", text).group(1))
    price = float(re.search(r"epoch .*costs ([\d.]+)", text).group(1))
    assert price == pytest.approx(100 * update / 1000 * 4, rel=0.01)


def test_json_has_all_figures(run_command):
    result = run_command(
        *BASE, "--batch-size", 32, "--topology", "v5e:1x1", "--json"
    )

    read = json.loads(result.stdout)
    assert read["machine"]["name"] == "v5e:1x1"
    assert read["method"] == "estimated"
    assert read["memory"]["total"] > read["memory"]["state"]


def test_what_does_not_fit_ends_with_1(run_command):
    result = run_command(*BASE, "--batch-size", 4096, "--topology", "v5e:1x1")

    assert result.exit_code == 1
    assert "does not fit" in result.output


def test_a_wrong_line_is_explained(run_command):
    result = run_command(*BASE, "--batch-size", 30, "--topology", "v5e:2x2")

    assert result.exit_code == 1
    assert "--batch-size 28 or --batch-size 32" in result.output


@pytest.mark.parametrize(
    "value, text",
    [
        (0.00035, "350 µs"),
        (0.0551, "55.1 ms"),
        (90, "90 s"),
        (600, "10 min"),
        (93784, "26.1 h"),
        (864000, "10.0 days"),
    ],
)
def test_times(value, text):
    assert time(value) == text


def test_sizes():
    assert si(9.4e12, "FLOP") == "9.4 TFLOP"
    assert si(12, "B") == "12 B"
    assert si(5e21, "B") == "5e+06 PB"
    assert binary(3 * 2**29) == "1.50 GiB"
    assert binary(2**19) == "0.5 MiB"
