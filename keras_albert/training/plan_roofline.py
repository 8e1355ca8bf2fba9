"""From what one core's step costs to memory, shortest time, largest batch."""

from keras_albert.training.plan_estimate import FLOAT32
from keras_albert.training.plan_estimate import largest_batch
from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import step_flops


def memory_of(costs):
    """Returns the bytes of a core's memory by what they are for.

    Args:
        costs: dict with the fields of `plan_compile.CompiledStep`.

    Returns:
        Dict of ints: `state`, `temporary`, `code` and `total`.
    """
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
        costs: dict, as for `memory_of`.

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


def bytes_per_example(shape, costs):
    """Returns about what an example adds to the memory of a step.

    Gradients, state and code stay; everything else grows with the batch.

    Args: as `roofline`.
    """
    gradients = FLOAT32 * num_parameters(shape.arguments)
    growing = max(costs["temporary_bytes"] - gradients, shape.batch_size)
    return growing / shape.batch_size


def extrapolate_largest(machine, shape, costs):
    """Returns about how many examples fit on a core at a time.

    Args: as `roofline`.
    """
    per_example = bytes_per_example(shape, costs)
    fixed = memory_of(costs)["total"] - per_example * shape.batch_size
    return largest_batch(machine.memory_bytes, fixed, per_example)
