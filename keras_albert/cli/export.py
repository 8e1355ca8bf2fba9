"""`keras-albert export`: a classifier as a SavedModel that takes strings."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[
        Path,
        typer.Argument(
            help="A fine-tuned model: preset, .keras or `finetune` output."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(help="Folder of the served model; a version is added."),
    ] = Path("served/albert"),
    version: Annotated[
        int | None,
        typer.Option(help="Version number. [dim]default: the next one[/]"),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(help="Compare answers with Python in a fresh process."),
    ] = True,
):
    """Export a fine-tuned model for TensorFlow Serving: strings in."""
    from keras_albert.cli import show
    from keras_albert.export import export_saved_model

    # The output of `finetune` holds its model in a folder of this name.
    if (model / "preset").is_dir():
        model = model / "preset"
    console = show.console()
    with console.status("Exporting, then checking in a fresh process"):
        path = export_saved_model(model, output, version=version, verify=verify)
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    console.print(f"{path} ({show.megabytes(size)})")
    console.print(f'Ask it: keras-albert predict {path} "some text"')
