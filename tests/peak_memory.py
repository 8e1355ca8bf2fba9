"""The memory that a call takes at its peak."""

import gc
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def peak_memory(call):
    """Returns how many bytes resident memory rose at most during a call."""
    if not RESET.exists():
        pytest.skip("the peak of resident memory is Linux's to tell")
    gc.collect()
    before = _field("VmRSS")
    RESET.write_text("5")
    call()
    return _field("VmHWM") - before


def _field(name):
    for line in STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {name} in {STATUS}")
