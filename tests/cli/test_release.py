from pathlib import Path

import keras_albert.serving  # noqa: F401
from keras_albert.serving.bundle.config import Release

SERVING = "keras_albert.serving"


def test_options_reach_the_library(run_command, replace):
    release = replace(
        SERVING, "release", Release("x", {"stable": 2, "previous": 1})
    )

    result = run_command("release", "served/x", "--stable", 2, "--canary", 3)

    assert result.exit_code == 0, result.output
    assert release.arguments == (Path("served/x"),)
    assert release.options == {"stable": 2, "canary": 3}
    lines = [line.split() for line in result.output.splitlines()]
    assert ["stable", "2"] in lines
    assert ["previous", "1"] in lines


def test_refusal_is_one_red_line(run_command, replace):
    replace(SERVING, "release", ValueError("not served yet"))

    result = run_command("release", "served/x")

    assert result.exit_code == 1
    assert result.stderr == "not served yet\n"
