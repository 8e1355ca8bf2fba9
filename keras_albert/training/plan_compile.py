"""Compiles a model's own training step ahead of time, and reads its costs.

`fit` on JAX compiles `model.train_step`, a function of (state, batch). The same
function is lowered here from shapes alone, for the devices at hand or for a
TPU topology that is not attached; nothing is run.

Needs JAX as Keras's backend, and `libtpu` for topologies.
"""

import contextlib
import dataclasses
import functools
import os
import time

import keras
import numpy as np

from keras_albert.data.masking import default_num_predictions
from keras_albert.layers.tpu_attention import compiling_for_tpu
from keras_albert.training.plan_program import count_collectives

# What a TPU machine would say of itself. Without an attached TPU, the library
# looks for it on the network, and complains.
TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # Compilers may run side by side; no device is opened.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


@dataclasses.dataclass(frozen=True)
class CompiledStep:
    """What the compiler says of one core's program.

    Attributes:
        flops: float. Operations; a loop's body and a TPU kernel's inside
            count once or not at all.
        bytes_accessed: float. Bytes that its operations read and write; a
            loop's body counts once.
        argument_bytes: int. State and batch.
        output_bytes: int. Results that do not take the place of arguments.
        temporary_bytes: int. Everything in between.
        code_bytes: int. The program.
        collectives: dict from the kind to `{"count", "bytes"}`.
        seconds: float. Time of tracing and compiling.
        cpu_seconds: float. Processor time of the same.
    """

    flops: float
    bytes_accessed: float
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    code_bytes: int
    collectives: dict
    seconds: float
    cpu_seconds: float

    @property
    def memory_bytes(self):
        """All that must fit at once."""
        return (
            self.argument_bytes
            + self.output_bytes
            + self.temporary_bytes
            + self.code_bytes
        )


class DoesNotFitError(Exception):
    """The compiler found no room for the program in the core's memory."""


def topology_devices(topology):
    """Returns the JAX devices of a TPU topology that need not be attached.

    Args:
        topology: `plan_chips.Topology`.

    Raises:
        ImportError: If `libtpu` is not installed.
    """
    try:
        import libtpu  # noqa: F401
    except ImportError:
        raise ImportError(
            "Compiling for a TPU that is not attached needs its compiler. "
            'Install it with: pip install "keras-albert[tpu]"'
        ) from None
    for name, value in TPU_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from jax.experimental import topologies

    return topologies.get_topology_desc(
        platform="tpu",
        topology_name=topology.name,
        **topology.chip.topology_options,
    ).devices


def batch_shapes(batch_size, sequence_length):
    """Returns a pretraining batch as shapes, as `fit` gets it.

    Args:
        batch_size: int. Examples on all devices together.
        sequence_length: int.

    Returns:
        `(inputs, targets, weights)`, dicts of `jax.ShapeDtypeStruct`.
    """
    import jax

    num_predictions = default_num_predictions(sequence_length)

    def shape(dtype, *sizes):
        return jax.ShapeDtypeStruct((batch_size, *sizes), dtype)

    inputs = {
        name: shape("int32", sequence_length)
        for name in ("token_ids", "segment_ids", "padding_mask")
    }
    inputs["mask_positions"] = shape("int32", num_predictions)
    targets, weights = (
        {
            "masked_lm": shape(dtype, num_predictions),
            "sentence_order": shape(dtype),
        }
        for dtype in ("int32", "float32")
    )
    return inputs, targets, weights


def compile_step(model, batch, devices):
    """Compiles the training step of a model for some devices.

    Args:
        model: compiled Keras model, on the JAX backend.
        batch: `(inputs, targets, weights)` as `fit` would get it, of arrays
            or `jax.ShapeDtypeStruct`. Its first dimension, the examples of
            all devices, is divided among them.
        devices: list of JAX devices.

    Returns:
        The compiled program, as `jax.jit(...).lower(...).compile()`.

    Raises:
        DoesNotFitError: If the compiler says that memory does not suffice.
    """
    import jax

    _build(model, batch)
    on_tpu = devices[0].platform == "tpu"
    target = compiling_for_tpu() if on_tpu else contextlib.nullcontext()
    parallel = keras.distribution.DataParallel(devices=devices)
    mesh = parallel.device_mesh.backend_mesh
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    divided = jax.sharding.NamedSharding(
        mesh, jax.sharding.PartitionSpec(parallel.batch_dim_name)
    )
    state = tuple(
        [_shape_of(variable, whole) for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )
    batch = jax.tree.map(lambda array: _shape_of(array, divided), batch)
    # A fresh object: JAX finds earlier traces by equality of functions, and
    # would take that of a model whose depth has changed since.
    train_step = functools.partial(type(model).train_step, model)
    step = jax.jit(train_step, donate_argnums=0, out_shardings=(None, whole))
    with target, parallel.scope():
        lowered = step.lower(state, batch)
    try:
        return lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise DoesNotFitError(str(error).splitlines()[0]) from None


def read_costs(program, seconds=0.0, cpu_seconds=0.0):
    """Returns what a compiled program says of itself, as `CompiledStep`."""
    costs, memory = program.cost_analysis(), program.memory_analysis()
    return CompiledStep(
        flops=float(costs.get("flops", 0.0)),
        bytes_accessed=float(costs.get("bytes accessed", 0.0)),
        argument_bytes=memory.argument_size_in_bytes,
        output_bytes=memory.output_size_in_bytes - memory.alias_size_in_bytes,
        temporary_bytes=memory.temp_size_in_bytes,
        code_bytes=memory.generated_code_size_in_bytes,
        collectives=count_collectives(program.as_text()),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
    )


def compiled_costs(model, batch, devices):
    """Returns `CompiledStep` of a model's training step, and the time it took.

    Args, Raises: as `compile_step`.
    """
    began, cpu_began = time.monotonic(), time.process_time()
    program = compile_step(model, batch, devices)
    return read_costs(
        program,
        seconds=time.monotonic() - began,
        cpu_seconds=time.process_time() - cpu_began,
    )


def _build(model, batch):
    """Makes the variables of the optimizer and the metrics, as `fit` does."""
    import jax

    example = jax.tree.map(
        lambda array: np.zeros((1, *array.shape[1:]), array.dtype), batch
    )
    # Not public, but what `fit` calls; public ways run a step.
    model._symbolic_build(data_batch=example)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)


def _shape_of(array, sharding):
    import jax

    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)
