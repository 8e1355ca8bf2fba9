"""`keras-albert train-tokenizer`: a SentencePiece vocabulary for ALBERT."""

from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import CorpusOption
from keras_albert.cli.options import SeedOption


def train_tokenizer(
    corpus: CorpusOption,
    vocabulary_size: Annotated[
        int, typer.Option(help="Pieces wanted; a small corpus gives fewer.")
    ] = 30000,
    output: Annotated[
        Path, typer.Option(help="The model file to write.")
    ] = Path("spiece.model"),
    lowercase: Annotated[
        bool, typer.Option(help="Ignore case, as Google's ALBERT does.")
    ] = True,
    strip_accents: Annotated[
        bool, typer.Option(help="Ignore accents, as Google's ALBERT does.")
    ] = True,
    character_coverage: Annotated[
        float | None,
        typer.Option(
            help="Share of characters to cover. "
            "[dim]default: 0.99995, Chinese and the like 0.9995[/]"
        ),
    ] = None,
    max_sentences: Annotated[
        int, typer.Option(help="Lines that take part, drawn at random.")
    ] = 1_000_000,
    seed: SeedOption = 0,
):
    """Train a SentencePiece vocabulary in the layout of Google's ALBERT."""
    from keras_albert import tokenizers
    from keras_albert.cli import show
    from keras_albert.data import read_documents

    console = show.console()
    documents = read_documents(corpus)
    with console.status("Reading the corpus and training the vocabulary"):
        summary = tokenizers.train_tokenizer(
            (line for document in documents for line in document),
            vocabulary_size,
            output,
            seed=seed,
            max_sentences=max_sentences,
            character_coverage=character_coverage,
            lowercase=lowercase,
            strip_accents=strip_accents,
        )
    if summary.is_reduced:
        console.print(
            f"The corpus is too small for {show.number(vocabulary_size)} "
            f"pieces; {show.number(summary.size)} is what it gives.",
            style="yellow",
        )
    console.print(
        f"{summary.path}: {show.number(summary.size)} pieces from "
        f"{show.number(summary.num_lines_used)} of "
        f"{show.number(summary.num_lines_seen)} lines; "
        f"{show.number(summary.num_characters_covered)} of "
        f"{show.number(summary.num_characters)} characters covered."
    )
    if summary.num_long_lines_split:
        console.print(
            f"{show.number(summary.num_long_lines_split)} long lines were "
            "cut into parts; none was dropped."
        )
