"""A plan's figures: from what one core's steps cost to time and money."""

import dataclasses

from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_estimate import step_flops
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_roofline import extrapolate_largest
from keras_albert.training.plan_roofline import memory_of
from keras_albert.training.plan_roofline import roofline


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhasePlan:
    """What one phase of a run needs and takes.

    Attributes:
        sequence_length, batch_size, num_layers, steps: ints, of the phase;
            `batch_size` counts the examples of an update on all cores.
        num_turns: int. Of the phase's place in the run, every `num_turns`-th
            step is one of these; the others have other batches.
        batch_per_core: int. Examples that a core works on at a time.
        method: string. `"compiled"` or `"estimated"`.
        does_not_fit: string or `None`. The compiler's refusal; the figures
            are then estimated.
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
        run_seconds: float. All steps of the phase.
        epoch_seconds: float or `None`. For `num_examples`.
        run_price, epoch_price: float or `None`.
        compile_seconds: float or `None`.
    """

    sequence_length: int
    batch_size: int
    num_layers: int
    steps: int
    num_turns: int
    batch_per_core: int
    method: str
    does_not_fit: str | None
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run needs and takes: its phases, and the whole.

    Attributes:
        machine: `Machine`.
        settings: dict. What is planned, as `RunSettings.describe` has it.
        why_estimated: string or `None`. Why nothing was compiled.
        num_parameters: int. Weights, heads included.
        steps, accumulate: ints, of the run.
        efficiency: float. Share of the machine's limits that times are for.
        phases: tuple of `PhasePlan`; one for a run without phases.
        fits: bool. Whether every phase fits into a core's memory.
        tightest_phase: int. Index of the phase that needs the most memory.
        run_seconds: float. All phases together.
        run_price: float or `None`.
    """

    machine: Machine
    settings: dict
    why_estimated: str | None
    num_parameters: int
    steps: int
    accumulate: int
    efficiency: float
    phases: tuple
    fits: bool
    tightest_phase: int
    run_seconds: float
    run_price: float | None

    def to_dict(self):
        """Returns all figures as plain values, for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepAnswer:
    """What the compiler, or the formula, says of the step of a phase.

    Attributes:
        shape: `StepShape` of one core.
        costs: dict with the fields of `plan_compile.CompiledStep`.
        is_compiled: bool. Whose figures `costs` are.
        does_not_fit: string or `None`. The compiler's refusal.
        largest_batch: int or `None`. The largest batch that a core was seen
            to hold.
    """

    shape: object
    costs: dict
    is_compiled: bool
    does_not_fit: str | None = None
    largest_batch: int | None = None


def make_plan(
    *,
    run,
    machine,
    answers,
    why_estimated=None,
    num_examples=None,
    price_per_core_hour=None,
    efficiency=1.0,
):
    """Returns the `Plan` of a run on a machine.

    Args:
        run: `RunSettings`.
        machine: `Machine`.
        answers: list of `StepAnswer`, one for each phase.
        why_estimated: string or `None`. Why `costs` are by formula.
        num_examples, price_per_core_hour, efficiency: as in `plan`.
    """

    def price(seconds):
        if price_per_core_hour is None or seconds is None:
            return None
        return seconds / 3600 * machine.num_cores * price_per_core_hour

    phases = tuple(
        _make_phase(run, machine, span, answer, num_examples, efficiency, price)
        for span, answer in zip(run.spans, answers, strict=True)
    )
    run_seconds = sum(phase.run_seconds for phase in phases)
    return Plan(
        machine=machine,
        settings=run.describe(),
        why_estimated=why_estimated,
        num_parameters=num_parameters(run.backbone),
        steps=run.steps,
        accumulate=run.accumulate,
        efficiency=efficiency,
        phases=phases,
        fits=all(phase.fits for phase in phases),
        tightest_phase=max(
            range(len(phases)), key=lambda index: _tightness(phases[index])
        ),
        run_seconds=run_seconds,
        run_price=price(run_seconds),
    )


def _make_phase(run, machine, span, answer, num_examples, efficiency, price):
    shape, costs = answer.shape, answer.costs
    memory = memory_of(costs)
    seconds = roofline(machine, shape, costs)
    limit = max(seconds, key=seconds.get)
    update = run.accumulate * seconds[limit] / efficiency
    steps = span.num_steps
    epoch = None
    if num_examples is not None:
        epoch = num_examples / span.batch_size * update
    largest = answer.largest_batch
    if largest is None:
        largest = extrapolate_largest(machine, shape, costs)
    return PhasePlan(
        sequence_length=span.sequence_length,
        batch_size=span.batch_size,
        num_layers=span.num_layers or run.backbone["num_layers"],
        steps=steps,
        num_turns=span.num_turns,
        batch_per_core=shape.batch_size,
        method="compiled" if answer.is_compiled else "estimated",
        does_not_fit=answer.does_not_fit,
        memory=memory,
        fits=(
            not answer.does_not_fit and memory["total"] <= machine.memory_bytes
        ),
        largest_batch=largest * machine.num_cores * run.accumulate,
        largest_batch_is_compiled=answer.largest_batch is not None,
        flops=step_flops(shape),
        compiled_flops=costs["flops"],
        bytes_accessed=costs["bytes_accessed"],
        collectives=costs["collectives"],
        seconds=seconds,
        limited_by=limit,
        update_seconds=update,
        run_seconds=steps * update,
        epoch_seconds=epoch,
        run_price=price(steps * update),
        epoch_price=price(epoch),
        compile_seconds=costs.get("seconds"),
    )


def _tightness(phase):
    """What the compiler refuses is tighter than any estimate of it."""
    return phase.does_not_fit is not None, phase.memory["total"]
