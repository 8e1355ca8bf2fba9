"""`keras-albert finetune`: a classifier from labelled texts."""

from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption
from keras_albert.cli.options import SeedOption


def finetune(
    model: Annotated[
        Path,
        typer.Option(help="A pretrained model: preset or `pretrain` output."),
    ],
    train: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Labelled texts: .tsv, .csv or .jsonl (.gz too) with the "
            "columns label and text.",
        ),
    ],
    validation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labelled texts that choose the best epoch. "
            "[dim]default: a share of --train[/]",
        ),
    ] = None,
    validation_share: Annotated[float, typer.Option(help="That share.")] = 0.1,
    output: Annotated[
        Path, typer.Option(help="Folder for the classifier.")
    ] = Path("classifier"),
    epochs: Annotated[int, typer.Option(help="Times over the texts.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 32,
    sequence_length: Annotated[
        int, typer.Option(help="Tokens kept of a text.")
    ] = 128,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Peak rate. [dim]default: fits the width[/]"),
    ] = None,
    seed: SeedOption = 0,
    backend: BackendOption = None,
):
    """Fine-tune a classifier of texts or pairs of texts."""
    from keras_albert import training
    from keras_albert.cli import show

    # The output of `pretrain` holds its model in a folder of this name.
    preset = model / "preset"
    with show.progress_bars() as progress:
        result = training.finetune(
            model=preset if preset.is_dir() else model,
            train=train,
            validation=validation,
            validation_share=validation_share,
            epochs=epochs,
            batch_size=batch_size,
            sequence_length=sequence_length,
            learning_rate=learning_rate,
            seed=seed,
            output=output,
            progress=progress,
        )
    report(result, show.console())


def report(result, console):
    """Shows the epochs, the floor, and where the model is."""
    from keras_albert.cli import show

    console.print(
        show.table(
            None,
            ("epoch", "loss", "accuracy", "held-out loss", "held-out accuracy"),
            [
                (
                    record["epoch"],
                    f"{record['loss']:.3f}",
                    show.percent(record["accuracy"]),
                    f"{record['val_loss']:.3f}",
                    show.percent(record["val_accuracy"]),
                )
                for record in result.history
            ],
        )
    )
    console.print(
        f"Best is epoch {result.best_epoch}: "
        f"{show.percent(result.validation_accuracy)} of "
        f"{show.number(result.num_validation)} held-out texts; always "
        f"answering the commonest class gives "
        f"{show.percent(result.majority_accuracy)}."
    )
    for note in result.notes:
        console.print(note, style="yellow")
    console.print(f"Model: {result.preset}")
    console.print(
        f"Next:  keras-albert export {result.preset} --output served/NAME"
    )
