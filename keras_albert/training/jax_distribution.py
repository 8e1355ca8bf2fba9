"""`keras.distribution` on JAX: one process or several, ready for `fit`."""

import contextlib
import os
import re

import keras

from keras_albert.training.distribution import PROCESSES_VARIABLE
from keras_albert.training.distribution import Distribution
from keras_albert.training.layout_map import DATA_AXIS
from keras_albert.training.layout_map import MODEL_AXIS
from keras_albert.training.layout_map import AlbertModelParallel

# Kept, since what JAX no longer holds would be shut down.
_LEFT = []


def open_mesh(name, model_shards=None):
    """Returns the `Distribution` of a name; connects processes.

    Args:
        name: string. `"auto"`, `"data_parallel"` or `"model_parallel"`.
        model_shards: int or `None`.
    """
    _connect_processes()
    devices = keras.distribution.list_devices()
    if name == "auto":
        name = "data_parallel" if len(devices) > 1 else "none"
    if name == "none":
        return Distribution()
    if name == "data_parallel":
        made = keras.distribution.DataParallel(
            devices=devices, auto_shard_dataset=False
        )
        return MeshDistribution(name, made)
    return _model_parallel(devices, model_shards)


class MeshDistribution(Distribution):
    """Devices of JAX under a `keras.distribution.Distribution`.

    Args:
        name: string.
        distribution: `keras.distribution.Distribution`.
    """

    def __init__(self, name, distribution):
        import jax

        self.name = name
        self.distribution = distribution
        self.num_replicas = distribution.num_model_replicas
        self.model_shards = getattr(distribution, "model_shards", 1)
        self.num_processes = jax.process_count()
        self.process_index = jax.process_index()
        # Processes that share a copy of the model need the same rows.
        self.num_workers = min(self.num_processes, self.num_replicas)
        self.worker_index = distribution.data_shard_id

    @contextlib.contextmanager
    def scope(self):
        with self.distribution.scope():
            yield

    def _gather_all(self, values):
        if self.num_processes == 1:
            return [values]
        import numpy as np
        from jax.experimental import multihost_utils

        rows = multihost_utils.process_allgather(np.int32(values))
        return rows.reshape(self.num_processes, -1).tolist()

    def _is_lost_process(self, error):
        import jax

        return isinstance(error, jax.errors.JaxRuntimeError) and bool(
            re.search(r"Gloo|UNAVAILABLE|heartbeat|DEADLINE", str(error))
        )

    def _leave(self):
        from jax._src import distributed

        # At its end, JAX would wait for all processes and then abort.
        state = distributed.global_state
        _LEFT.extend([state.service, state.client])
        state.client = state.service = None

    @contextlib.contextmanager
    def whole_weights(self, model):
        if self.num_processes == 1:
            yield
            return
        import jax

        model.jax_state_sync()
        variables = [*model.variables, *model.optimizer.variables]
        split = [v for v in variables if not v.value.is_fully_replicated]
        own = [v.value for v in split]
        mesh = self.distribution.device_mesh.backend_mesh
        everywhere = jax.sharding.NamedSharding(
            mesh, jax.sharding.PartitionSpec()
        )
        whole = jax.jit(lambda x: x, out_shardings=everywhere)(own)
        for variable, value in zip(split, whole, strict=True):
            variable._value = value
        try:
            yield
        finally:
            for variable, value in zip(split, own, strict=True):
                variable._value = value


def _connect_processes():
    """Joins the processes that the environment names; once."""
    import jax

    wanted = os.environ.get(PROCESSES_VARIABLE)
    if wanted is None or jax.distributed.is_initialized():
        return
    try:
        if wanted == "auto":
            # TPU slices, Slurm and Open MPI know their members.
            jax.distributed.initialize()
        else:
            keras.distribution.initialize()
    except (RuntimeError, ValueError) as error:
        raise ConnectionError(
            f"The JAX processes could not be connected. Received: "
            f"{PROCESSES_VARIABLE}={wanted}; see "
            "`keras_albert.training.distribute` for a line that works. JAX "
            f"says: {str(error).splitlines()[0]}"
        ) from error


def _model_parallel(devices, model_shards):
    import jax

    if model_shards is None:
        model_shards = jax.local_device_count()
    if model_shards < 1 or len(devices) % model_shards:
        raise ValueError(
            "`model_shards` must divide the number of devices. Received: "
            f"model_shards={model_shards}, devices={len(devices)}."
        )
    mesh = keras.distribution.DeviceMesh(
        (len(devices) // model_shards, model_shards),
        (DATA_AXIS, MODEL_AXIS),
        devices,
    )
    return MeshDistribution("model_parallel", AlbertModelParallel(mesh))
