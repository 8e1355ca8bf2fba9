"""What a step has to run on: documented for TPUs, measured for this machine."""

import dataclasses
import os
import time

from keras_albert.training import preflight
from keras_albert.training.distribution import Distribution

# What the runtime keeps for itself: v5e's compiler gives 15.75 of 16 GiB.
TPU_USABLE = 0.98
_REPEATS = 3
_SHORTEST = 0.02


@dataclasses.dataclass(frozen=True)
class Machine:
    """The limits of one core, and how many there are.

    Attributes:
        name: string.
        num_cores: int. Devices that share a batch.
        peak_flops: float. Operations a second of matrix products.
        memory_bytes: float. What a program may fill.
        memory_bandwidth: float. Bytes a second.
        link_bandwidth: float. Bytes a second to the other cores; 0 for one.
        source: string. Where the figures come from.
    """

    name: str
    num_cores: int
    peak_flops: float
    memory_bytes: float
    memory_bandwidth: float
    link_bandwidth: float
    source: str


def topology_machine(topology):
    """Returns the `Machine` of a `plan_chips.Topology`."""
    chip = topology.chip
    return Machine(
        name=topology.name,
        num_cores=topology.num_cores,
        peak_flops=chip.peak_flops / chip.cores,
        memory_bytes=TPU_USABLE * chip.memory_bytes / chip.cores,
        memory_bandwidth=chip.memory_bandwidth / chip.cores,
        link_bandwidth=chip.link_bandwidth / chip.cores,
        source=f"documented: {chip.source}",
    )


class MachineCores(Distribution):
    """The cores of a machine as `pretrain` would use them: data in parallel.

    Args:
        machine: `Machine`.
    """

    name = "data_parallel"

    def __init__(self, machine):
        self.num_replicas = machine.num_cores


def check_batches(run, machine):
    """Raises `ValueError` unless the cores can share the batch of each phase.

    Args:
        run: `RunSettings`.
        machine: `Machine`.
    """
    preflight.check_batches(MachineCores(machine), run.spans, run.accumulate)


def local_machine(dtype=None):
    """Measures the devices that Keras runs on, in about a second.

    Args:
        dtype: string. The run's dtype policy; decides the matrices' type.

    Returns:
        `Machine` with the fastest of a few large products and copies: what
        a device reaches at best, not what its data sheet says.
    """
    name, num_cores, memory, share = _local_device()
    return Machine(
        name=name,
        num_cores=num_cores,
        peak_flops=share * _matrix_flops(_matrix_dtype(dtype)),
        memory_bytes=memory,
        memory_bandwidth=share * _copy_bandwidth(),
        link_bandwidth=0.0,
        source="measured here",
    )


def _local_device():
    """Name, number and memory of the devices; the share of one in a measure."""
    import keras

    count = 1
    if keras.backend.backend() == "jax":
        import jax

        devices = jax.local_devices()
        count = len(devices)
        limit = (devices[0].memory_stats() or {}).get("bytes_limit")
        if limit:
            return devices[0].device_kind, count, float(limit), 1.0
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # Devices that JAX makes of one processor share all that it has.
    name = f"CPU with {os.cpu_count()} threads"
    return name, count, pages / count, 1 / count


def _matrix_dtype(dtype):
    return str(dtype or "float32").removeprefix("mixed_")


def _matrix_flops(dtype):
    from keras import ops

    side = 512
    while True:
        matrix = ops.ones((side, side), dtype)
        seconds = _fastest(lambda m=matrix: ops.matmul(m, m))
        if seconds > _SHORTEST or side >= 8192:
            return 2 * side**3 / seconds
        side *= 2


def _copy_bandwidth():
    from keras import ops

    array = ops.ones((2**24,), "float32")
    # Read once and written once.
    return 2 * 4 * 2**24 / _fastest(lambda: array + 1.0)


def _fastest(run):
    from keras import ops

    def timed():
        began = time.perf_counter()
        # One number back: devices work behind the call.
        ops.convert_to_numpy(run()[:1])
        return time.perf_counter() - began

    timed()
    return min(timed() for _ in range(_REPEATS))
