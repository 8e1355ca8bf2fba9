"""What would fail after minutes or days, found before anything is computed."""

import os
import tempfile
from pathlib import Path

# Beyond the estimate: what a runtime and its libraries take, and its errors.
MEMORY_MARGIN = 1.25
REMOTE = "gs://"


def check_batches(distribution, spans, accumulate=1):
    """Raises `ValueError` unless every batch can be split over the devices.

    Args:
        distribution: `Distribution`.
        spans: list of `PhaseSpan`.
        accumulate: int. Parts that a batch is worked on in. Defaults to `1`.
    """
    parts = distribution.num_replicas * accumulate
    for size in dict.fromkeys(span.batch_size for span in spans):
        if size % parts == 0:
            continue
        below, above = size // parts * parts, -(-size // parts) * parts
        fitting = [each for each in (below, above) if each]
        devices = f"{distribution.num_replicas} devices"
        if accumulate > 1:
            devices += f" times accumulate={accumulate}"
        raise ValueError(
            f"A batch of {size} examples cannot be split evenly over "
            f"{devices}. Take a batch size of "
            f"{' or '.join(map(str, fitting))}."
        )


def check_model_shards(distribution, backbone):
    """Raises `ValueError` unless the heads can be split over the devices.

    Args:
        distribution: `Distribution`.
        backbone: dict. Arguments of `AlbertBackbone`.
    """
    shards, heads = distribution.model_shards, backbone["num_heads"]
    if heads % shards:
        fitting = [n for n in range(1, heads + 1) if heads % n == 0]
        raise ValueError(
            f"The {heads} heads of the model cannot be split over "
            f"model_shards={shards}. Take one of {fitting}, or data_parallel: "
            "ALBERT is small enough for one device."
        )


def check_paths(distribution, *, written, read=()):
    """Raises an error unless paths can be written and read where it happens.

    Args:
        distribution: `Distribution`.
        written: paths of folders that are to be written, or made.
        read: paths of files or folders.

    Raises:
        ValueError: if devices read files on their own and a path is local.
        FileNotFoundError: if there is nothing to read.
        PermissionError: if a folder cannot be written.
    """
    if distribution.has_remote_devices:
        local = [p for p in [*written, *read] if not str(p).startswith(REMOTE)]
        if local:
            raise ValueError(
                "The TPU is on another machine, which reads and writes "
                f"{REMOTE} paths only. Received: {local[0]}. Give a bucket, "
                "or run on a TPU VM, where local paths work."
            )
        return
    for path in read:
        if not Path(path).expanduser().exists():
            raise FileNotFoundError(f"{path} does not exist.")
    if distribution.is_chief:
        for path in written:
            _check_writable(Path(path).expanduser())


def _check_writable(path):
    """Writes and removes a file in the nearest folder that exists."""
    folder = path
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".preflight-"):
            pass
    except OSError as error:
        raise PermissionError(
            f"Nothing can be written to {path}: {error.strerror}. Name "
            "another output folder, or free it."
        ) from error


def check_memory(needed, available, *, batch_size, num_replicas=1):
    """Raises `ValueError` if a step does not fit into a device.

    Args:
        needed: function from the examples on a device to estimated bytes.
        available: int, bytes of a device; or `None` if nobody knows.
        batch_size: int. Examples of a step on all devices.
        num_replicas: int. Devices they are split over. Defaults to `1`.
    """
    share = max(batch_size // num_replicas, 1)
    if available is None or needed(share) <= MEMORY_MARGIN * available:
        return
    fitting = share
    while fitting > 1 and needed(fitting) > available:
        fitting //= 2
    raise ValueError(
        f"A step with {share} examples on each device needs about "
        f"{_gib(needed(share))}; a device has {_gib(available)}. Take "
        f"--batch-size {fitting * num_replicas}, more parts with "
        "--accumulate, or --remat."
    )


def device_memory():
    """Returns the bytes of one local device, or `None` if nobody knows."""
    import keras

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        device = jax.local_devices()[0]
        if device.platform == "cpu":
            return _free_memory() // jax.local_device_count("cpu")
        return (device.memory_stats() or {}).get("bytes_limit")
    if backend == "torch":
        import torch

        if torch.cuda.is_available():
            return torch.cuda.mem_get_info()[1]
        return _free_memory()
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        # TensorFlow does not say how much a GPU has.
        return None
    return _free_memory()


def _free_memory():
    """Bytes of memory that this machine can still hand out."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        pages = os.sysconf("SC_PHYS_PAGES")
        return pages * os.sysconf("SC_PAGE_SIZE")
    values = dict(line.split(":") for line in lines)
    return int(values["MemAvailable"].split()[0]) * 1024


def _gib(size):
    return f"{size / 2**30:.1f} GiB"
