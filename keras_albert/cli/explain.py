"""`keras-albert explain`: one training example as a person would see it."""

from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import SeedOption


def explain(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="What `keras-albert prepare` wrote."
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(metavar="FILES", help="Text, instead of --data."),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A SentencePiece .model, a WordPiece vocab.txt or a preset; "
            "with --corpus.",
        ),
    ] = None,
    index: Annotated[
        int, typer.Option(help="Which example, counted from 0.")
    ] = 0,
    epoch: Annotated[
        int, typer.Option(help="Each epoch has pairs and masks of its own.")
    ] = 0,
    sequence_length: Annotated[
        int, typer.Option(help="Tokens of an example; with --corpus.")
    ] = 128,
    seed: SeedOption = 0,
):
    """Show one example: its segments, what is hidden, and what is right."""
    if (data is None) == (corpus is None):
        raise typer.BadParameter("Give either --data or --corpus.")
    if corpus is not None and tokenizer is None:
        raise typer.BadParameter("--corpus needs a --tokenizer.")
    from keras_albert import data as library
    from keras_albert import tokenizers
    from keras_albert.cli import show
    from keras_albert.cli.explained_text import example_lines

    place = {"index": index, "epoch": epoch, "seed": seed}
    if tokenizer is not None:
        tokenizer = tokenizers.load_tokenizer(tokenizer)
    if data is not None:
        example = library.explain_prepared(data, tokenizer, **place)
    else:
        documents = library.read_documents(corpus)
        example = library.explain_corpus(
            library.tokenize_corpus(documents, tokenizer),
            tokenizer,
            sequence_length=sequence_length,
            **place,
        )
    console = show.console()
    console.print(f"Example {index} in epoch {epoch} of seed {seed}")
    for line in example_lines(example):
        console.print(line)
