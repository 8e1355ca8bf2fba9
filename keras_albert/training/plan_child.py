"""Compiles the steps of a planned run in a process of its own.

`python -m keras_albert.training.plan_child` reads a request as JSON from
standard input and writes the reply into the file that it names. The process
has JAX as Keras's backend, whatever the caller's, and TPU libraries that the
caller never loads.

    request   {"settings", "topology", "search", "reply"}
    reply     {"machine", "steps": [{"costs", "does_not_fit",
              "largest_batch"}, …]}, a step for each phase; or
              {"wrong"}, for settings that do not suit the machine found
"""

import dataclasses
import json
import sys
from pathlib import Path

from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_compile import topology_devices
from keras_albert.training.plan_machine import check_batches
from keras_albert.training.plan_machine import local_machine
from keras_albert.training.plan_machine import topology_machine
from keras_albert.training.plan_settings import from_plain
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_shapes import core_shapes
from keras_albert.training.plan_steps import PlannedSteps


def answer(request):
    """Returns the reply to a request, both as dicts."""
    run = planned_settings(**from_plain(request["settings"]))
    machine, devices = _machine(run, request["topology"])
    try:
        check_batches(run, machine)
    except ValueError as error:
        return {"wrong": str(error)}
    cores = core_shapes(run, machine.num_cores)
    steps = PlannedSteps(run, machine, devices, cores)
    return {
        "machine": dataclasses.asdict(machine),
        "steps": [steps.reply(core, request["search"]) for core in cores],
    }


def _machine(run, topology):
    if topology is None:
        import jax

        return local_machine(run.backbone.get("dtype")), jax.local_devices()
    topology = parse_topology(topology)
    return topology_machine(topology), topology_devices(topology)


def main():
    """Answers the request on standard input."""
    request = json.load(sys.stdin)
    reply = json.dumps(answer(request))
    Path(request["reply"]).write_text(reply, encoding="utf-8")


if __name__ == "__main__":
    main()
