"""The compiled steps of a planned run, and the largest batches that fit."""

import dataclasses
import functools
import itertools

from keras_albert.training.plan_compile import DoesNotFitError
from keras_albert.training.plan_compile import batch_shapes
from keras_albert.training.plan_compile import compiled_costs
from keras_albert.training.plan_estimate import estimate_costs
from keras_albert.training.plan_estimate import optimizer_slots
from keras_albert.training.plan_roofline import bytes_per_example
from keras_albert.training.plan_roofline import extrapolate_largest
from keras_albert.training.plan_search import find_largest_batch
from keras_albert.training.plan_shapes import step_shape
from keras_albert.training.run_model import make_run_model


class PlannedSteps:
    """The steps of a run on a machine, each shape compiled once.

    Args:
        run: `RunSettings`.
        machine: `Machine`.
        devices: list of JAX devices: the cores of the machine.
        cores: list of `CoreShape`: those of the phases.
    """

    def __init__(self, run, machine, devices, cores):
        self._run = run
        self._machine = machine
        self._devices = devices
        self._cores = cores
        self._model = make_run_model(run, tokenizer=None)
        self._unroll = self._model.backbone.unroll
        self._compiled = functools.cache(self._compile)
        self._found = functools.cache(self._search)

    def reply(self, core, search):
        """Returns what the compiler says of a step.

        Args:
            core: `CoreShape`.
            search: bool. Whether to find the largest batch.

        Returns:
            Dict of `costs`, `does_not_fit` and `largest_batch`, the first or
            the second `None`.
        """
        costs, refusal = self._compiled(core, self._unroll)
        if costs is not None:
            costs = {**dataclasses.asdict(costs), **self._whole_loop(core)}
        return {
            "costs": costs,
            "does_not_fit": refusal,
            "largest_batch": self._largest_batch(core) if search else None,
        }

    def _compile(self, core, unroll):
        """Returns `CompiledStep` and `None`, or `None` and a refusal."""
        encoder = self._model.backbone.encoder
        encoder.active_layers, encoder.unroll = core.num_layers, unroll
        batch = batch_shapes(
            core.batch_size * len(self._devices), core.sequence_length
        )
        try:
            return compiled_costs(self._model, batch, self._devices), None
        except DoesNotFitError as error:
            return None, str(error)

    def _whole_loop(self, core):
        """Returns operations and bytes of a step with a loop, all rounds.

        The compiler counts the body of a loop once. Two unrolled programs of
        few layers say what a layer adds.

        Returns:
            Dict with `flops` and `bytes_accessed`; empty without a loop.
        """
        encoder = self._model.backbone.encoder
        encoder.active_layers = core.num_layers
        calls = itertools.pairwise(encoder.call_order)
        if self._unroll or not any(a == b for a, b in calls):
            return {}
        fewest = encoder.num_groups
        depths = fewest, min(2 * fewest, core.num_layers)
        (few, _), (more, _) = (
            self._compiled(dataclasses.replace(core, num_layers=depth), True)
            for depth in depths
        )
        if few is None or more is None:
            return {}
        rounds = (core.num_layers - fewest) / (depths[1] - fewest)
        return {
            name: getattr(few, name)
            + rounds * (getattr(more, name) - getattr(few, name))
            for name in ("flops", "bytes_accessed")
        }

    def _largest_batch(self, core):
        # One search for the phases that differ in their batches alone.
        alike = [
            other
            for other in self._cores
            if dataclasses.replace(other, batch_size=core.batch_size) == core
        ]
        fitting = [c.batch_size for c in alike if self._fits(c)]
        found = self._found(max(alike, key=lambda other: other.batch_size))
        return max([found, *fitting])

    def _search(self, core):
        shape = step_shape(
            self._run, core, on_tpu=self._devices[0].platform == "tpu"
        )
        costs, _ = self._compiled(core, self._unroll)
        if costs is None:
            slots = optimizer_slots(self._run.optimizer)
            costs = estimate_costs(shape, self._machine.num_cores, slots)
        else:
            costs = dataclasses.asdict(costs)
        return find_largest_batch(
            lambda size: self._memory_of(
                dataclasses.replace(core, batch_size=size)
            ),
            core.batch_size,
            self._memory_of(core),
            self._machine.memory_bytes,
            guess=extrapolate_largest(self._machine, shape, costs),
            per_example=bytes_per_example(shape, costs),
        )

    def _memory_of(self, core):
        costs, _ = self._compiled(core, self._unroll)
        return None if costs is None else costs.memory_bytes

    def _fits(self, core):
        memory = self._memory_of(core)
        return memory is not None and memory <= self._machine.memory_bytes
