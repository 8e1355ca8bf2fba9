"""A plan's figures: from what one core's step costs to time and money."""

import dataclasses

from keras_albert.training.plan_estimate import FLOAT32
from keras_albert.training.plan_estimate import largest_batch
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run needs and takes.

    Attributes:
        machine: `Machine`.
        method: string. `"compiled"` or `"estimated"`.
        why_estimated: string or `None`.
        does_not_fit: string or `None`. The compiler's refusal; the figures
            are then estimated.
        num_parameters: int. Weights, heads included.
        steps, batch_size, accumulate, sequence_length: ints, of the run;
            `batch_size` counts the examples of an update on all cores.
        batch_per_core: int. Examples that a core works on at a time.
        memory: dict of bytes on one core: `state` (weights, moments, batch),
            `temporary`, `code`, `total`.
        fits: bool. Whether `total` fits into the core's memory.
        largest_batch: int. Examples of an update that fit on all cores.
        largest_batch_is_compiled: bool. Or else extrapolated.
        flops: float. Operations of one core's step, by formula.
        compiled_flops, bytes_accessed: floats. As the compiler counts them
            (estimated: the formula's).
        collectives: dict, see `plan_program.count_collectives`.
        seconds: dict. Shortest time of one core's step by each limit:
            `arithmetic`, `memory`, `network`.
        limited_by: string. The longest of these.
        update_seconds: float. One update: `accumulate` steps, at the
            efficiency asked for.
        run_seconds: float. All steps of the run.
        epoch_seconds: float or `None`. For `num_examples`.
        run_price, epoch_price: float or `None`.
        compile_seconds: float or `None`.
    """

    machine: Machine
    method: str
    why_estimated: str | None
    does_not_fit: str | None
    num_parameters: int
    steps: int
    batch_size: int
    accumulate: int
    sequence_length: int
    batch_per_core: int
    memory: dict
    fits: bool
    largest_batch: int
    largest_batch_is_compiled: bool
    flops: float
    compiled_flops: float
    bytes_accessed: float
    collectives: dict
    seconds: dict
    limited_by: str
    update_seconds: float
    run_seconds: float
    epoch_seconds: float | None
    run_price: float | None
    epoch_price: float | None
    compile_seconds: float | None

    def to_dict(self):
        """Returns all figures as plain values, for JSON."""
        return dataclasses.asdict(self)


def make_plan(
    *,
    run,
    machine,
    shape,
    costs,
    why_estimated=None,
    does_not_fit=None,
    compiled_largest=None,
    num_examples=None,
    price_per_core_hour=None,
    efficiency=1.0,
):
    """Returns the `Plan` of a run on a machine.

    Args:
        run: `RunSettings`.
        machine: `Machine`.
        shape: `StepShape` of one core.
        costs: dict with the fields of `plan_compile.CompiledStep`.
        why_estimated: string or `None`. Why `costs` are by formula.
        does_not_fit: string or `None`. The compiler's refusal.
        compiled_largest: int or `None`. The largest batch a core was seen to
            hold.
        num_examples, price_per_core_hour, efficiency: as in `plan`.
    """
    memory = memory_of(costs)
    batch_size = run.spans[0].batch_size
    seconds = roofline(machine, shape, costs)
    limit = max(seconds, key=seconds.get)
    update = run.accumulate * seconds[limit] / efficiency
    largest = compiled_largest
    if largest is None:
        largest = extrapolate_largest(machine, shape, costs)
    epoch = None if num_examples is None else num_examples / batch_size * update

    def price(duration):
        if price_per_core_hour is None or duration is None:
            return None
        return duration / 3600 * machine.num_cores * price_per_core_hour

    return Plan(
        machine=machine,
        method="estimated" if why_estimated or does_not_fit else "compiled",
        why_estimated=why_estimated,
        does_not_fit=does_not_fit,
        num_parameters=num_parameters(shape.arguments),
        steps=run.steps,
        batch_size=batch_size,
        accumulate=run.accumulate,
        sequence_length=shape.sequence_length,
        batch_per_core=shape.batch_size,
        memory=memory,
        fits=not does_not_fit and memory["total"] <= machine.memory_bytes,
        largest_batch=largest * machine.num_cores * run.accumulate,
        largest_batch_is_compiled=compiled_largest is not None,
        flops=step_flops(shape),
        compiled_flops=costs["flops"],
        bytes_accessed=costs["bytes_accessed"],
        collectives=costs["collectives"],
        seconds=seconds,
        limited_by=limit,
        update_seconds=update,
        run_seconds=run.steps * update,
        epoch_seconds=epoch,
        run_price=price(run.steps * update),
        epoch_price=price(epoch),
        compile_seconds=costs.get("seconds"),
    )


def memory_of(costs):
    """Returns the bytes of a core's memory by what they are for."""
    parts = {
        "state": costs["argument_bytes"] + costs["output_bytes"],
        "temporary": costs["temporary_bytes"],
        "code": costs["code_bytes"],
    }
    return {**parts, "total": sum(parts.values())}


def roofline(machine, shape, costs):
    """Returns the shortest time of a step by each of a core's limits.

    The three go on at the same time, so that the longest counts. Operations
    are the formula's where the compiler does not see them all.

    Args:
        machine: `Machine`.
        shape: `StepShape`.
        costs: dict, as for `make_plan`.

    Returns:
        Dict of floats: `arithmetic`, `memory` and `network`.
    """
    flops = max(step_flops(shape), costs["flops"])
    network = 0.0
    if machine.num_cores > 1 and machine.link_bandwidth:
        sent = sum(found["bytes"] for found in costs["collectives"].values())
        # Around a ring, everything passes every core twice, but for its own.
        passes = 2 * (machine.num_cores - 1) / machine.num_cores
        network = passes * sent / machine.link_bandwidth
    return {
        "arithmetic": flops / machine.peak_flops,
        "memory": costs["bytes_accessed"] / machine.memory_bandwidth,
        "network": network,
    }


def extrapolate_largest(machine, shape, costs):
    """Returns about how many examples fit on a core at a time.

    Gradients, state and code stay; everything else grows with the batch.
    """
    gradients = FLOAT32 * num_parameters(shape.arguments)
    growing = max(costs["temporary_bytes"] - gradients, shape.batch_size)
    fixed = memory_of(costs)["total"] - growing
    return largest_batch(
        machine.memory_bytes, fixed, growing / shape.batch_size
    )
