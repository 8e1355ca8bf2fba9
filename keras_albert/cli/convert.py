"""`keras-albert convert`: a checkpoint from one library to another."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption


class Format(enum.StrEnum):
    """What a conversion can write."""

    preset = "preset"
    hugging_face = "hugging_face"
    google = "google"
    keras_hub = "keras_hub"


def convert(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder, archive or checkpoint of Google, TF-Hub, Hugging "
            "Face, keras-hub, Model Garden, albert_zh or ours; or "
            "hf://OWNER/MODEL. The kind is found from the content."
        ),
    ],
    destination: Annotated[Path, typer.Argument(help="The folder to write.")],
    to: Annotated[
        Format, typer.Option(help="What to write: ours, or theirs.")
    ] = Format.preset,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Vocabulary of the model, or a folder with it. "
            "[dim]default: the one in SOURCE[/]",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Greatest difference from the source's answers."),
    ] = 1e-4,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace DESTINATION.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the report as JSON."),
    ] = None,
    backend: BackendOption = None,
):
    """Convert a checkpoint, and check that it answers as before."""
    from keras_albert import conversion
    from keras_albert.cli import show

    console = show.console()
    with console.status("Converting, then comparing with the source"):
        result = conversion.convert(
            source,
            destination,
            to=str(to),
            tokenizer=tokenizer,
            tolerance=tolerance,
            overwrite=overwrite,
        )
    rows = [
        (f"{what}: {which}" if which else what, show.number(count))
        for what, count, which in result.rows()
    ]
    console.print(show.table(None, ("weights", "number"), rows))
    for note in result.notes:
        console.print(note, style="dim", markup=False)
    if result.new_heads:
        console.print(
            f"Random until trained: {', '.join(result.new_heads)}. Their "
            "answers mean nothing yet.",
            style="yellow",
        )
    worst = max(result.check, key=result.check.get)
    console.print(
        f"Greatest difference from the source: {result.max_difference:.1e} "
        f"({worst}; {show.number(len(result.check))} outputs compared)."
    )
    if report is not None:
        report.write_text(result.to_json() + "\n", encoding="utf-8")
    console.print(f"{destination} ({to})")
