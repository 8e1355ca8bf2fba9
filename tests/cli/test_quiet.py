import os
import subprocess
import sys

import pytest

from keras_albert.cli import quiet

NOISE = """
WARNING: All log messages before absl::InitializeLog() is called are written
I0000 00:00:1795986722.424917    1128 port.cc:153] oneDNN custom operations
W0000 00:00:1795986722.424917    1128 gpu_device.cc:2] Cannot dlopen some
E0000 00:00:1795986722.4    1128 cuda_platform.cc:52] failed call to cuInit: I
E0000 00:00:1795986722.4   18549 util.cc:131] oneDNN supports DT_INT64 only on
To enable the following instructions: AVX2 FMA, in other operations, rebuild
""".strip().splitlines()


@pytest.mark.parametrize("line", NOISE)
def test_chatter_is_known(line):
    assert quiet.CHATTER.match(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        "E0000 00:00:1795986722.4   18549 util.cc:131] out of memory",
        "ValueError: `steps` must be at least 1.",
        "Information about W0000",
    ],
)
def test_other_lines_are_not_chatter(line):
    assert not quiet.CHATTER.match(line.encode())


def test_only_chatter_is_dropped():
    code = f"""
import os, subprocess, sys
from keras_albert.cli.quiet import hushed

with hushed():
    os.write(2, {(NOISE[1] + chr(10)).encode()!r})
    os.write(2, b"from C++\\n")
    print("from Python", file=sys.stderr)
    subprocess.run([sys.executable, "-c", "import os; os.write(2, b'child')"])
os.write(2, {(NOISE[1] + chr(10)).encode()!r})
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )

    assert result.returncode == 0
    assert result.stderr.count("oneDNN") == 1
    for kept in ("from C++\n", "from Python\n", "child"):
        assert kept in result.stderr


def test_stderr_is_given_back():
    before, descriptor = sys.stderr, os.fstat(2)

    with quiet.hushed():
        assert os.fstat(2) != descriptor

    assert sys.stderr is before
    assert os.fstat(2) == descriptor
