"""`keras-albert release`: which version of a served model has which label."""

from pathlib import Path
from typing import Annotated

import typer


def release(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR/NAME",
            help="Folder of the model, which holds its versions 1, 2, ...",
        ),
    ],
    stable: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Version for all. [dim]default: as it is[/]"
        ),
    ] = None,
    canary: Annotated[
        int | None,
        typer.Option(
            metavar="M", help="Version on trial. [dim]default: none[/]"
        ),
    ] = None,
):
    """Put a served model's version on trial, release it, or go back.

    Edits deploy/config/models.config beside the model. A new version is first
    the canary, then stable; the one before stays loaded as `previous`.
    """
    from keras_albert.cli import show
    from keras_albert.serving import release as change

    found = change(folder, stable=stable, canary=canary)
    show.console().print(
        show.table(
            None,
            ("label", "version"),
            [(label, str(v)) for label, v in sorted(found.labels.items())],
        )
    )
