"""`keras-albert plan`: memory, time and price of a run, before it is begun."""

from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import DtypeOption
from keras_albert.cli.pretrain import Optimizer
from keras_albert.cli.pretrain import RecipeName

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
        RecipeName | None,
        typer.Option(
            help="Decides --steps and --optimizer. "
            "[dim]default: as pretrain takes[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    batch_size: Annotated[
        int,
        typer.Option(
            help="Examples of an update, on all cores together; for phases "
            "without one of their own.",
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
    phases: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH:SHARE%,…",
            help="Lengths one after the other, such as 128@2:60%,512x8:40% "
            "(@2: two layer calls, x8: batches of 8), or in turn: "
            "96x32+384x8:100%. "
            "[dim]default: --sequence-length throughout[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer | None,
        typer.Option(
            help="[dim]default: the recipe's[/]", rich_help_panel=THE_RUN
        ),
    ] = None,
    ema_momentum: Annotated[
        float | None,
        typer.Option(
            help="Average the weights: one more number for each. "
            "[dim]default: no average[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    dtype: DtypeOption = None,
    unroll: Annotated[
        bool | None,
        typer.Option(
            "--unroll/--loop",
            help="Each layer call compiled apart, or all as one loop. "
            "[dim]default: as configured[/]",
            rich_help_panel=THE_RUN,
        ),
    ] = None,
    remat: Annotated[
        bool | None,
        typer.Option(
            "--remat/--no-remat",
            help="Compute activations twice and keep few. "
            "[dim]default: as configured[/]",
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
        typer.Option(
            help="Examples of one epoch; adds its time and price, phase by "
            "phase."
        ),
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
            help="Compile for other batches until the largest that fits is "
            "found, for each phase.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all figures as JSON.")
    ] = False,
):
    """Say what a pretraining run needs and takes, without running it.

    Takes the options of `keras-albert pretrain` that decide its memory and
    time. The training step of each phase is compiled for the machine,
    attached or not, with the data divided among its cores; the exit code is 1
    if one does not fit.
    """
    from keras_albert import training
    from keras_albert.cli import plan_report
    from keras_albert.cli import show

    with show.progress_bars() as bars:
        if compiled:
            bars.add_task("Compiling", total=None)
        made = training.plan(
            size=size,
            config=config,
            vocabulary_size=vocabulary_size,
            steps=steps,
            recipe=None if recipe is None else str(recipe),
            batch_size=batch_size,
            accumulate=accumulate,
            sequence_length=sequence_length,
            phases=phases,
            optimizer=None if optimizer is None else str(optimizer),
            ema_momentum=ema_momentum,
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
        plan_report.print_json(made)
    else:
        plan_report.print_plan(made, show.console())
    if not made.fits:
        raise typer.Exit(1)
