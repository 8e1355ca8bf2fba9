"""What a pretraining run will need and take, before it is paid for.

settings ──┬─ formula ───────────────────────┐
           └─ compiler, in its own process ──┴─ memory, time, largest batch
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_estimate import estimate_costs
from keras_albert.training.plan_estimate import optimizer_slots
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_machine import check_batches
from keras_albert.training.plan_machine import local_machine
from keras_albert.training.plan_machine import topology_machine
from keras_albert.training.plan_result import StepAnswer
from keras_albert.training.plan_result import make_plan
from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_settings import to_plain
from keras_albert.training.plan_shapes import core_shapes
from keras_albert.training.plan_shapes import step_shape
from keras_albert.training.setting_checks import check_counts
from keras_albert.training.setting_checks import check_numbers
from keras_albert.training.setting_checks import plain_values


def plan(
    *,
    topology=None,
    compiled=True,
    find_largest_batch=False,
    num_examples=None,
    price_per_core_hour=None,
    efficiency=1.0,
    **settings,
):
    """Says what a pretraining run needs and takes, without running it.

    The steps of `pretrain` on JAX, data in parallel, are compiled for the
    machine, one for each shape among the phases, in a process of its own; the
    compiler's figures are reported. For TPUs this works on any machine, with
    the extra `tpu`. Without JAX or the TPU compiler the figures are estimated
    by formula, and say so.

    Args:
        topology: string, optional. TPU chips, such as `"v5e:2x2"`. Without
            it, the plan is for this machine.
        compiled: bool. Whether to ask the compiler; it takes a minute or two
            for `albert_base`. Defaults to `True`.
        find_largest_batch: bool. Compile for larger batches too, until the
            largest that fits is found, for each phase; without it, it is
            extrapolated. Defaults to `False`.
        num_examples: int, optional. Examples of one epoch; without it, only
            the time of the whole run is given.
        price_per_core_hour: float, optional. In any currency.
        efficiency: float. Share of the machine's limits that will be reached;
            1 gives the shortest time possible. Defaults to `1.0`.
        **settings: those of the run, as in `pretrain`: `size`, `config`,
            `recipe`, `steps`, `batch_size`, `accumulate`, `sequence_length`,
            `phases`, `optimizer`, `ema_momentum`, `dtype`, `unroll`, `remat`;
            and `vocabulary_size`. Others, such as `seed`, change nothing.

    Returns:
        `Plan`.

    Raises:
        TypeError, ValueError, FileNotFoundError: Before any work, for what
            does not fit together.
        ChildProcessError: If the compiler fails.

    Example:

    >>> report = plan(
    ...     size="albert_base", phases="128x512:90%,512x128:10%",
    ...     dtype="mixed_bfloat16", topology="v5e:2x2", compiled=False,
    ... )
    >>> report.fits, [phase.limited_by for phase in report.phases]
    (True, ['memory', 'memory'])
    """
    target = None if topology is None else parse_topology(topology)
    settings = plain_values(**settings)
    run = planned_settings(**settings)
    _check_numbers(num_examples, price_per_core_hour, efficiency)
    if find_largest_batch and not compiled:
        raise ValueError(
            "The largest batch is found by compiling. Received: "
            "find_largest_batch=True, compiled=False. Leave one of them out; "
            "a plan by formula has the largest batch by formula."
        )
    reason = "as asked" if not compiled else _why_not_compiled(target)
    if target is not None:
        machine = topology_machine(target)
        check_batches(run, machine)
    steps = [{}] * len(run.spans)
    if reason is None:
        reply = _ask_compiler(settings, target, find_largest_batch)
        machine, steps = Machine(**reply["machine"]), reply["steps"]
    elif target is None:
        machine = local_machine(run.backbone.get("dtype"))
        check_batches(run, machine)
    return make_plan(
        run=run,
        machine=machine,
        answers=_answers(run, machine, steps, on_tpu=target is not None),
        why_estimated=reason,
        num_examples=num_examples,
        price_per_core_hour=price_per_core_hour,
        efficiency=efficiency,
    )


def _answers(run, machine, steps, on_tpu):
    """Joins what the compiler said, perhaps nothing, with the formula."""
    slots = optimizer_slots(run.optimizer)
    answers = []
    for core, step in zip(
        core_shapes(run, machine.num_cores), steps, strict=True
    ):
        shape = step_shape(run, core, on_tpu)
        costs = step.get("costs")
        answers.append(
            StepAnswer(
                shape=shape,
                costs=costs or estimate_costs(shape, machine.num_cores, slots),
                is_compiled=costs is not None,
                does_not_fit=step.get("does_not_fit"),
                largest_batch=step.get("largest_batch"),
            )
        )
    return answers


def _why_not_compiled(target):
    """Returns what is missing for the compiler, or `None`."""
    if importlib.util.find_spec("jax") is None:
        return 'JAX is not installed: pip install "keras-albert[jax]"'
    if target is not None and importlib.util.find_spec("libtpu") is None:
        return (
            'the TPU compiler is not installed: pip install "keras-albert[tpu]"'
        )
    return None


def _ask_compiler(settings, target, search):
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    if target is not None:
        # The process has no TPU; the compiler must not look for one.
        environment["JAX_PLATFORMS"] = "cpu"
    with tempfile.TemporaryDirectory() as folder:
        reply = Path(folder) / "reply.json"
        request = {
            "settings": to_plain(settings),
            "topology": None if target is None else target.name,
            "search": search,
            "reply": str(reply),
        }
        done = subprocess.run(
            [sys.executable, "-m", "keras_albert.training.plan_child"],
            input=json.dumps(request),
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode or not reply.is_file():
            raise ChildProcessError(_failure(done))
        answer = json.loads(reply.read_text(encoding="utf-8"))
    if "wrong" in answer:
        raise ValueError(answer["wrong"])
    return answer


def _failure(done):
    lines = done.stderr.splitlines()
    # Below the error of a traceback, JAX writes notes of its own.
    errors = [line for line in lines if re.match(r"[\w.]+: ", line)]
    errors = [e for e in errors if not e.startswith("WARNING")]
    last = errors[-1] if errors else f"exit code {done.returncode}"
    return (
        f"The compiler's process failed: {last}. Leave the compiler out "
        "(`compiled=False`, `--no-compile`) for an estimate by formula."
    )


def _check_numbers(num_examples, price_per_core_hour, efficiency):
    check_counts(num_examples=num_examples)
    check_numbers(
        "above 0",
        price_per_core_hour=price_per_core_hour,
        efficiency=efficiency,
    )
    if efficiency > 1:
        raise ValueError(
            "`efficiency` is a share, above 0 and at most 1. Received: "
            f"efficiency={efficiency}."
        )
