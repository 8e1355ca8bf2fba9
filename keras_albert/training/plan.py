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

from keras_albert.data.masking import default_num_predictions
from keras_albert.layers.tpu_attention import fits_tpu_kernel
from keras_albert.training.plan_chips import parse_topology
from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import estimate_costs
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_machine import local_machine
from keras_albert.training.plan_machine import topology_machine
from keras_albert.training.plan_result import make_plan
from keras_albert.training.plan_settings import planned_settings


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

    The step of `pretrain` on JAX is compiled for the machine, in a process of
    its own, and the compiler's figures are reported. For TPUs this works on
    any machine, with the extra `tpu`. Without JAX or the TPU compiler the
    figures are estimated by formula, and say so.

    Args:
        topology: string, optional. TPU chips, such as `"v5e:2x2"`. Without
            it, the plan is for this machine.
        compiled: bool. Whether to ask the compiler; it takes a minute or two
            for `albert_base`. Defaults to `True`.
        find_largest_batch: bool. Compile for larger batches too, until the
            largest that fits is found; without it, it is extrapolated.
            Defaults to `False`.
        num_examples: int, optional. Examples of one epoch; without it, only
            the time of the whole run is given.
        price_per_core_hour: float, optional. In any currency.
        efficiency: float. Share of the machine's limits that will be reached;
            1 gives the shortest time possible. Defaults to `1.0`.
        **settings: `size`, `config`, `vocabulary_size`, `recipe`, `steps`,
            `batch_size`, `accumulate`, `sequence_length`, `optimizer`,
            `dtype`, `unroll`, `remat`, `ema_momentum`, as in `pretrain`.

    Returns:
        `Plan`.

    Raises:
        ValueError, FileNotFoundError: Before any work, for what does not fit
            together.
        RuntimeError: If the compiler fails.

    Example:

    >>> report = plan(
    ...     size="albert_base", sequence_length=512, batch_size=128,
    ...     dtype="mixed_bfloat16", topology="v5e:2x2", compiled=False,
    ... )
    >>> report.fits, report.limited_by
    (True, 'memory')
    """
    target = None if topology is None else parse_topology(topology)
    run = planned_settings(**settings)
    _check_numbers(num_examples, price_per_core_hour, efficiency)
    reason = "as asked" if not compiled else _why_not_compiled(target)
    if target is not None:
        machine = topology_machine(target)
        _check_batch(run, machine.num_cores)
    reply = {}
    if reason is None:
        reply = _ask_compiler(settings, target, find_largest_batch)
        machine = Machine(**reply["machine"])
    elif target is None:
        machine = local_machine(run.backbone.get("dtype"))
    shape = _shape_on_one_core(run, machine, target)
    return make_plan(
        run=run,
        machine=machine,
        shape=shape,
        costs=reply.get("costs") or estimate_costs(shape, machine.num_cores),
        why_estimated=reason,
        does_not_fit=reply.get("does_not_fit"),
        compiled_largest=reply.get("largest_batch"),
        num_examples=num_examples,
        price_per_core_hour=price_per_core_hour,
        efficiency=efficiency,
    )


def _check_batch(run, num_cores):
    """Refuses a batch that the cores cannot share."""
    batch_size = run.spans[0].batch_size
    parts = num_cores * run.accumulate
    if batch_size % parts == 0:
        return
    near = sorted({max(1, batch_size // parts), batch_size // parts + 1})
    proposals = " or ".join(f"--batch-size {n * parts}" for n in near)
    times = f" in {run.accumulate} parts" if run.accumulate > 1 else ""
    raise ValueError(
        f"A batch must divide among the cores. Received: {batch_size} examples "
        f"for {num_cores} cores{times}. Take {proposals}."
    )


def _shape_on_one_core(run, machine, target):
    length = run.sequence_length
    arguments = run.backbone
    head_dim = arguments["hidden_dim"] // arguments["num_heads"]
    has_kernel = target is not None and fits_tpu_kernel(
        length, arguments["num_heads"], head_dim
    )
    drops = arguments.get("attention_dropout", 0.0) > 0
    return StepShape(
        arguments,
        max(1, run.spans[0].batch_size // run.accumulate // machine.num_cores),
        length,
        default_num_predictions(length),
        keeps_scores=drops or not has_kernel,
    )


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
            "settings": _plain(settings),
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
            raise RuntimeError(_failure(done))
        return json.loads(reply.read_text(encoding="utf-8"))


def _plain(settings):
    """Paths and configurations as JSON has them."""
    config = settings.get("config")
    if hasattr(config, "model_dump"):
        config = config.model_dump()
    elif config is not None and not isinstance(config, dict):
        config = str(config)
    return {**settings, "config": config}


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
    for name, value in (
        ("num_examples", num_examples),
        ("price_per_core_hour", price_per_core_hour),
    ):
        if value is not None and value <= 0:
            raise ValueError(
                f"`{name}` must be above 0. Received: {name}={value}."
            )
    if not 0 < efficiency <= 1:
        raise ValueError(
            "`efficiency` is a share, above 0 and at most 1. Received: "
            f"efficiency={efficiency}."
        )
