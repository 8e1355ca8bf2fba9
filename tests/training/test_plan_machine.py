import os

import numpy as np
import pytest

from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_machine import check_batches
from keras_albert.training.plan_machine import local_machine
from keras_albert.training.plan_machine import topology_machine
from keras_albert.training.plan_settings import planned_settings


def test_a_chip_with_two_cores_is_halved():
    machine = topology_machine(parse_topology("v3:2x2"))

    assert machine.num_cores == 8
    assert machine.peak_flops == 123e12 / 2
    assert machine.memory_bandwidth == 450e9
    assert machine.memory_bytes < 16 * 2**30
    assert machine.source.startswith("documented")


def test_one_chip_is_one_core():
    machine = topology_machine(parse_topology("v5e:1x1"))

    assert (machine.num_cores, machine.peak_flops) == (1, 197e12)


def test_every_batch_is_shared_among_all_cores():
    machine = topology_machine(parse_topology("v5e:2x2"))
    run = planned_settings(phases="128x8:50%,128x10:50%", steps=10)

    with pytest.raises(ValueError, match="batch of 10 .* size of 8 or 12"):
        check_batches(run, machine)
    check_batches(planned_settings(batch_size=8, steps=10), machine)


def test_this_machine_is_measured():
    machine = local_machine("mixed_bfloat16")
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    assert machine.num_cores == 1
    assert machine.memory_bytes == total
    assert machine.source == "measured here"
    # Any processor of this century, and none of the next.
    assert 1e8 < machine.peak_flops < 1e15
    assert 1e8 < machine.memory_bandwidth < 1e13


def test_the_measured_product_is_as_fast_as_numpys():
    import time

    matrix = np.ones((1024, 1024), "float32")
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - began)
    reference = 2 * 1024**3 / min(seconds)

    # Other work on the machine slows either.
    ratio = local_machine().peak_flops / reference
    assert ratio == pytest.approx(1, abs=0.95) or 1 < ratio < 20
