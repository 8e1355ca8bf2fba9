"""`keras-albert pretrain`: MLM and SOP from text files."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption
from keras_albert.cli.options import DtypeOption
from keras_albert.cli.options import SeedOption


class Optimizer(enum.StrEnum):
    """Optimizers of a pretraining run."""

    adamw = "adamw"
    lamb = "lamb"


class Objective(enum.StrEnum):
    """What the second head learns."""

    sop = "sop"
    nsp = "nsp"
    none = "none"


def pretrain(
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="Text (a blank line ends a document) or JSON lines with a "
            "`text` field; .gz of both; quoted patterns work too.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A SentencePiece .model, a WordPiece vocab.txt or a preset.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="What `keras-albert prepare` wrote, instead of --corpus and "
            "--tokenizer; one folder for each sequence length.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A published size, see `keras-albert sizes`. "
            "[dim]default: a small one for CPUs[/]",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML or JSON with the arguments of `AlbertBackbone`, "
            "instead of --size.",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Optimizer updates.")] = 5000,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 32,
    sequence_length: Annotated[
        int | None,
        typer.Option(
            help="Tokens of an example. [dim]default: that of --data, or 128[/]"
        ),
    ] = None,
    phases: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH:SHARE%,…",
            help="Lengths one after the other, such as 128@2:60%,512x8:40% "
            "(@2: two layer calls, x8: batches of 8). "
            "[dim]default: --sequence-length throughout[/]",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            help="Folder for model, curves and checkpoints; the same command "
            "goes on from where it was stopped."
        ),
    ] = Path("pretrained"),
    evaluation_corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="Held-out text. [dim]default: a share of the corpus[/]",
        ),
    ] = None,
    evaluation_data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Held-out text, prepared. [dim]default: a share of --data[/]",
        ),
    ] = None,
    held_out_share: Annotated[
        float, typer.Option(help="Share of documents or shards held out.")
    ] = 0.02,
    evaluation_every: Annotated[
        int | None,
        typer.Option(
            help="Steps between evaluations. [dim]default: a tenth[/]"
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer,
        typer.Option(help="LAMB is for batches of hundreds and more."),
    ] = Optimizer.adamw,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Peak rate. [dim]default: fits optimizer, batch and width[/]"
        ),
    ] = None,
    warmup_steps: Annotated[
        int | None,
        typer.Option(help="Steps up to the peak. [dim]default: a twentieth[/]"),
    ] = None,
    objective: Annotated[
        Objective,
        typer.Option(help="Sentence order, next sentence, or MLM alone."),
    ] = Objective.sop,
    sentence_order_weight: Annotated[
        float,
        typer.Option(help="Weight of the sentence-order loss."),
    ] = 1.0,
    evaluation_passes: Annotated[
        int,
        typer.Option(
            help="Cuts of the held-out text into pairs; more of them make the "
            "sentence-order accuracy less noisy."
        ),
    ] = 1,
    dtype: DtypeOption = None,
    seed: SeedOption = 0,
    backend: BackendOption = None,
):
    """Pretrain an ALBERT with masked words and sentence order."""
    if not data and not (corpus and tokenizer):
        raise typer.BadParameter(
            "Give --corpus and --tokenizer, or --data with what "
            "`keras-albert prepare` wrote."
        )
    from keras_albert import training
    from keras_albert.cli import show

    with show.progress_bars() as progress:
        result = training.pretrain(
            corpus=corpus or None,
            tokenizer=tokenizer,
            data=data or None,
            output=output,
            steps=steps,
            size=size,
            config=config,
            batch_size=batch_size,
            sequence_length=sequence_length,
            phases=phases,
            optimizer=str(optimizer),
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            objective=str(objective),
            sentence_order_weight=sentence_order_weight,
            evaluation_corpus=evaluation_corpus or None,
            evaluation_data=evaluation_data or None,
            held_out_share=held_out_share,
            evaluation_every=evaluation_every,
            evaluation_passes=evaluation_passes,
            dtype=None if dtype is None else str(dtype),
            seed=seed,
            progress=progress,
        )
    report(result, show.console())


def report(result, console):
    """Shows the curves as a table, the floors, and where the files are."""
    from keras_albert.cli import show
    from keras_albert.training.curves import curves_table

    console.print(show.table(None, *curves_table(result.history)))
    loss = result.final["val_masked_lm_loss"]
    gain = result.masked_lm_floor - loss
    console.print(
        f"MLM loss on held-out text {loss:.3f}; guessing by token frequency "
        f"gives {result.masked_lm_floor:.3f}, so the model gains "
        f"{gain:.3f} nats."
    )
    if "val_sentence_order_accuracy" in result.final:
        accuracy = result.final["val_sentence_order_accuracy"]
        console.print(
            f"Sentence order right in {show.percent(accuracy)}; chance is 50 %."
        )
    console.print(
        f"{show.number(result.num_parameters)} weights, "
        f"{show.number(result.num_train_tokens)} tokens of text, "
        f"{show.duration(result.seconds)}."
    )
    console.print(f"Model:  {result.preset}\nCurves: {result.curves}")
    console.print(
        f"Next:   keras-albert finetune --model {result.preset} "
        "--train labelled.tsv"
    )
