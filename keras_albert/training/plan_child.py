"""Compiles a planned step in a process of its own.

`python -m keras_albert.training.plan_child` reads a request as JSON from
standard input and writes the reply into the file that it names. The process
has JAX as Keras's backend, whatever the caller's, and TPU libraries that the
caller never loads.

    request   {"settings", "topology", "search", "reply"}
    reply     {"machine", "costs" or "does_not_fit", "largest_batch"}
"""

import dataclasses
import json
import sys
from pathlib import Path

from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_compile import DoesNotFitError
from keras_albert.training.plan_compile import batch_shapes
from keras_albert.training.plan_compile import compiled_costs
from keras_albert.training.plan_compile import topology_devices
from keras_albert.training.plan_estimate import FLOAT32
from keras_albert.training.plan_machine import local_machine
from keras_albert.training.plan_machine import topology_machine
from keras_albert.training.plan_search import find_largest_batch
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.run_model import make_run_model


def answer(request):
    """Returns the reply to a request, both as dicts."""
    settings = planned_settings(**request["settings"])
    model = make_run_model(settings, tokenizer=None)
    if request["topology"] is None:
        import jax

        devices = jax.local_devices()
        machine = local_machine(settings.backbone.get("dtype"))
    else:
        topology = parse_topology(request["topology"])
        devices = topology_devices(topology)
        machine = topology_machine(topology)
    cores = len(devices)
    per_core = settings.spans[0].batch_size // settings.accumulate // cores

    def costs_of(batch_per_core):
        batch = batch_shapes(batch_per_core * cores, settings.sequence_length)
        return compiled_costs(model, batch, devices)

    reply = {"machine": dataclasses.asdict(machine), "largest_batch": None}
    costs = None
    try:
        costs = costs_of(per_core)
        reply["costs"] = dataclasses.asdict(costs)
    except DoesNotFitError as error:
        reply["does_not_fit"] = str(error)
    if request["search"]:
        reply["largest_batch"] = _search(
            costs_of, per_core, costs, model.count_params(), machine
        )
    if costs is not None and not model.backbone.unroll:
        batch = batch_shapes(per_core * cores, settings.sequence_length)
        reply["costs"].update(whole_loop(model, batch, devices))
    return reply


def _search(costs_of, batch_size, costs, num_parameters, machine):
    def memory_of(size):
        try:
            return costs_of(size).memory_bytes
        except DoesNotFitError:
            return None

    per_example = 1.0
    if costs is not None:
        activations = costs.temporary_bytes - FLOAT32 * num_parameters
        per_example = max(activations, batch_size) / batch_size
    return find_largest_batch(
        memory_of,
        batch_size,
        None if costs is None else costs.memory_bytes,
        per_example,
        machine.memory_bytes,
    )


def whole_loop(model, batch, devices):
    """Returns operations and bytes of a program with a loop, all rounds.

    The compiler counts the body of a loop once. Two unrolled programs of few
    layers say what a layer adds.

    Returns:
        Dict with `flops` and `bytes_accessed`.
    """
    encoder = model.backbone.encoder
    step = encoder.num_groups
    depths = (step, 2 * step)
    if depths[1] > encoder.num_layers:
        return {}
    encoder.unroll = True
    try:
        few, more = (
            _costs_at_depth(model, depth, batch, devices) for depth in depths
        )
    finally:
        encoder.unroll = False
        encoder.active_layers = encoder.num_layers
    rounds = (encoder.num_layers - step) / step
    return {
        name: getattr(few, name)
        + rounds * (getattr(more, name) - getattr(few, name))
        for name in ("flops", "bytes_accessed")
    }


def _costs_at_depth(model, depth, batch, devices):
    model.backbone.encoder.active_layers = depth
    return compiled_costs(model, batch, devices)


def main():
    """Answers the request on standard input."""
    request = json.load(sys.stdin)
    reply = json.dumps(answer(request))
    Path(request["reply"]).write_text(reply, encoding="utf-8")


if __name__ == "__main__":
    main()
