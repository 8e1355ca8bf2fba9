"""`keras-albert plan`: memory, time and price of a run, before it is begun."""

from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import DtypeOption
from keras_albert.cli.pretrain import Optimizer

THE_RUN = "The run, as in `keras-albert pretrain`"
THE_MACHINE = "The machine"


def plan(
    size: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A published size, see `keras-albert sizes`. "
            "[dim]default: a small one for CPUs[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML or JSON with the arguments of `AlbertBackbone`, "
            "instead of --size.",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    vocabulary_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of your tokenizer. [dim]default: the size's, or 30000[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Optimizer updates. [dim]default: as pretrain takes[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="published or small. [dim]default: as pretrain takes[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    batch_size: Annotated[
        int,
        typer.Option(
            help="Examples of an update, on all cores together.",
            rich_help_panel=THE_RUN,
        ),
    ] = 32,
    accumulate: Annotated[
        int,
        typer.Option(
            help="Parts of a batch, one after the other.",
            rich_help_panel=THE_RUN,
        ),
    ] = 1,
    sequence_length: Annotated[
        int | None,
        typer.Option(
            help="Tokens of an example. [dim]default: 128[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer | None,
        typer.Option(
            help="[dim]default: the recipe's[/]", rich_help_panel=THE_RUN
        ),
    ] = None,
    dtype: DtypeOption = None,
    unroll: Annotated[
        bool | None,
        typer.Option(
            "--unroll/--loop",
            help="Each layer call compiled apart, or all as one loop. "
            "[dim]default: apart[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    remat: Annotated[
        bool | None,
        typer.Option(
            "--remat/--no-remat",
            help="Compute activations twice and keep few. "
            "[dim]default: keep them[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            metavar="CHIP:SHAPE",
            help="TPU chips, such as v5e:2x2; they need not be attached. "
            "[dim]default: this machine[/]",
            rich_help_panel=THE_MACHINE,
        ),
    ] = None,
    efficiency: Annotated[
        float,
        typer.Option(
            help="Share of the machine's limits that is reached; 1 gives the "
            "shortest time possible.",
            rich_help_panel=THE_MACHINE,
        ),
    ] = 1.0,
    price_per_core_hour: Annotated[
        float | None,
        typer.Option(
            help="Adds what it costs, in the same currency.",
            rich_help_panel=THE_MACHINE,
        ),
    ] = None,
    num_examples: Annotated[
        int | None,
        typer.Option(help="Examples of one epoch; adds its time and price."),
    ] = None,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile/--no-compile",
            help="Ask JAX's compiler (minutes for a large model), or estimate "
            "by formula.",
        ),
    ] = True,
    find_largest_batch: Annotated[
        bool,
        typer.Option(
            "--find-largest-batch",
            help="Compile for larger batches until the largest that fits is "
            "found.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all figures as JSON.")
    ] = False,
):
    """Say what a pretraining run needs and takes, without running it.

    The training step is compiled for the machine, attached or not; the exit
    code is 1 if it does not fit.
    """
    from keras_albert import training
    from keras_albert.cli import show

    with show.progress_bars() as bars:
        if compiled:
            bars.add_task("Compiling", total=None)
        made = training.plan(
            size=size,
            config=config,
            vocabulary_size=vocabulary_size,
            steps=steps,
            recipe=recipe,
            batch_size=batch_size,
            accumulate=accumulate,
            sequence_length=sequence_length,
            optimizer=None if optimizer is None else str(optimizer),
            dtype=None if dtype is None else str(dtype),
            unroll=unroll,
            remat=remat,
            topology=topology,
            efficiency=efficiency,
            price_per_core_hour=price_per_core_hour,
            num_examples=num_examples,
            compiled=compiled,
            find_largest_batch=find_largest_batch,
        )
    if as_json:
        print_json(made)
    else:
        print_plan(made, show.console())
    if not made.fits:
        raise typer.Exit(1)


def print_json(made):
    """Prints all figures as one JSON object."""
    import json

    print(json.dumps(made.to_dict(), indent=2))


def print_plan(made, console):
    """Prints the figures as a table, and the verdict."""
    from keras_albert.cli import show

    console.print(show.table(None, ("Plan", ""), rows(made)))
    for line in verdict(made):
        console.print(line, soft_wrap=True, markup=False)


def rows(made):
    """Lists the rows of the table: names and values."""
    from keras_albert.cli import show

    machine, seconds = made.machine, made.seconds
    parts = f" in {made.accumulate} parts" if made.accumulate > 1 else ""
    yield "machine", f"{machine.name} ({show.number(machine.num_cores)} cores)"
    yield (
        "one core",
        f"{si(machine.peak_flops, 'FLOP/s')}, "
        f"{binary(machine.memory_bytes)}, "
        f"{si(machine.memory_bandwidth, 'B/s')} ({machine.source})",
    )
    yield "weights", show.number(made.num_parameters)
    yield (
        "an update",
        f"{show.number(made.batch_size)} × {made.sequence_length} tokens"
        f"{parts}, {made.batch_per_core} examples on a core at a time",
    )
    yield "memory of a core", memory_line(made.memory)
    about = "" if made.largest_batch_is_compiled else "about "
    yield "largest batch", f"{about}{show.number(made.largest_batch)}"
    yield (
        "a core's step",
        f"{si(made.flops, 'FLOP')}, {si(made.bytes_accessed, 'B')} moved",
    )
    for kind, found in made.collectives.items():
        yield (
            kind,
            f"{found['count']} a step, {si(found['bytes'], 'B')} together",
        )
    yield (
        "shortest step",
        ", ".join(f"{name} {time(value)}" for name, value in seconds.items()),
    )
    yield "an update takes", f"{time(made.update_seconds)} or more"
    yield (
        f"{show.number(made.steps)} updates",
        f"{time(made.run_seconds)}{price(made.run_price)}",
    )
    if made.epoch_seconds is not None:
        yield "an epoch", f"{time(made.epoch_seconds)}{price(made.epoch_price)}"


def verdict(made):
    """Lists what the figures mean, in sentences."""
    if made.does_not_fit:
        yield f"The compiler refuses: {made.does_not_fit}"
    if not made.fits:
        yield (
            "It does not fit. Take a smaller --batch-size, --accumulate, "
            "--remat or --dtype mixed_bfloat16."
        )
    if made.why_estimated:
        yield (
            "Estimated by formula, not compiled; memory and bytes may be off "
            "by a third, on CPUs by a factor of three. Reason: "
            f"{made.why_estimated}."
        )
    yield (
        f"The {made.limited_by} sets the pace. Times are the shortest "
        "possible; real steps take longer."
    )


def memory_line(memory):
    """The parts of a core's memory and their sum."""
    parts = ", ".join(
        f"{name} {binary(memory[name])}"
        for name in ("state", "temporary", "code")
    )
    return f"{binary(memory['total'])} ({parts})"


def price(amount):
    """An amount of money after a time, or nothing."""
    return "" if amount is None else f", costs {amount:,.2f}"


def binary(num_bytes):
    """A size of memory: 3 * 2**29 -> '1.50 GiB'."""
    if num_bytes < 2**30:
        return f"{num_bytes / 2**20:,.1f} MiB"
    return f"{num_bytes / 2**30:,.2f} GiB"


def si(value, unit):
    """A large number with its prefix: 9.4e12 -> '9.40 TFLOP'."""
    prefixes = ["", "k", "M", "G", "T", "P"]
    while value >= 1000 and len(prefixes) > 1:
        value /= 1000
        prefixes.pop(0)
    return f"{value:.3g} {prefixes[0]}{unit}"


def time(seconds):
    """A time from microseconds to days: 93784 -> '26.1 h'."""
    for limit, divisor, unit in (
        (1e-3, 1e-6, "µs"),
        (1, 1e-3, "ms"),
        (120, 1, "s"),
        (7200, 60, "min"),
        (72 * 3600, 3600, "h"),
    ):
        if seconds < limit:
            return f"{seconds / divisor:.3g} {unit}"
    return f"{seconds / 86400:,.1f} days"
