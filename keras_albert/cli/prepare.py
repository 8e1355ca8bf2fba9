"""`keras-albert prepare`: from text files to shards of examples."""

import enum
from typing import Annotated

import typer

from keras_albert.cli.options import CorpusOption
from keras_albert.cli.options import SeedOption
from keras_albert.cli.options import TokenizerOption


class Runner(enum.StrEnum):
    """What does the work."""

    local = "local"
    beam = "beam"


class WordSegmenter(enum.StrEnum):
    """Segmenters for languages written without spaces."""

    jieba = "jieba"


def prepare(
    context: typer.Context,
    corpus: CorpusOption,
    tokenizer: TokenizerOption,
    output: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Folder for the shards; the same command goes on from where "
            "it was stopped.",
        ),
    ] = "prepared",
    sequence_length: Annotated[
        int, typer.Option(help="Tokens of an example.")
    ] = 512,
    short_sequence_probability: Annotated[
        float, typer.Option(help="Share of examples with a shorter target.")
    ] = 0.1,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes; the result does not depend on it. "
            "[dim]default: one per processor[/]"
        ),
    ] = None,
    num_shards: Annotated[
        int | None,
        typer.Option(help="Files to write. [dim]default: one per 8 MB[/]"),
    ] = None,
    word_segmenter: Annotated[
        WordSegmenter | None,
        typer.Option(
            help="Finds Chinese words, to be masked whole. "
            "[dim]default: the tokenizer's words[/]"
        ),
    ] = None,
    text_field: Annotated[
        str, typer.Option(help="Field of JSON lines that holds the text.")
    ] = "text",
    allow_single_sentences: Annotated[
        bool,
        typer.Option(
            "--allow-single-sentences",
            help="Accept documents of one sentence only, which teach no "
            "sentence order.",
        ),
    ] = False,
    runner: Annotated[
        Runner,
        typer.Option(
            help="`beam`: as an Apache Beam pipeline; Beam's own options "
            "follow after `--`."
        ),
    ] = Runner.local,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Remove what was prepared there before."
        ),
    ] = False,
    seed: SeedOption = 0,
):
    """Tokenize a corpus of any size into shards for pretraining."""
    from keras_albert.cli import show

    options = {
        "sequence_length": sequence_length,
        "short_sequence_probability": short_sequence_probability,
        "seed": seed,
        "num_shards": num_shards,
        "word_segmenter": word_segmenter and str(word_segmenter),
        "text_field": text_field,
        "allow_single_sentences": allow_single_sentences,
        "overwrite": overwrite,
    }
    if runner == Runner.beam:
        if workers is not None:
            raise typer.BadParameter(
                "--workers is for the local runner; name Beam's own option "
                "after `--`, such as --direct_num_workers=2."
            )
        prepared = run_on_beam(corpus, tokenizer, output, context.args, options)
    elif context.args:
        raise typer.BadParameter(
            f"Unexpected: {' '.join(context.args)}. Options after `--` go to "
            "Beam, with --runner beam."
        )
    else:
        prepared = run_here(corpus, tokenizer, output, workers, options)
    report(prepared, show.console())


def run_here(corpus, tokenizer, output, workers, options):
    """Prepares in processes of this machine, with progress bars."""
    from keras_albert import data
    from keras_albert.cli import errors
    from keras_albert.cli import show

    kept = f"{output} keeps what is finished; the same command goes on."
    with (
        errors.interruption_keeps(kept),
        show.progress_bars(percentages=True) as progress,
    ):
        return data.prepare_corpus(
            corpus,
            tokenizer,
            output,
            workers=workers,
            progress=progress,
            **options,
        )


def run_on_beam(corpus, tokenizer, output, pipeline_options, options):
    """Prepares on the runner that Beam's options name."""
    import importlib.util

    if importlib.util.find_spec("apache_beam") is None:
        raise ImportError(
            "Apache Beam is not installed. Install it with: "
            'pip install "keras-albert[beam]"'
        )
    from keras_albert.data import beam_preparation

    return beam_preparation.prepare_with_beam(
        corpus,
        tokenizer,
        output,
        pipeline_options=pipeline_options,
        **options,
    )


def report(prepared, console):
    """Shows what went in and came out, and what deserves a second look."""
    from keras_albert.cli import show

    if prepared.was_complete:
        console.print(
            f"{prepared.folder} is complete already; nothing was done. "
            "--overwrite prepares it again."
        )
    totals = prepared.manifest.totals
    counts = [
        ("documents", totals.documents),
        ("sentences", totals.sentences),
        ("tokens", totals.tokens),
        ("examples", totals.examples),
        ("shards", len(prepared.manifest.shards)),
        ("one-sentence documents", totals.one_sentence_documents),
        ("long sentences split", totals.split_sentences),
        ("long lines split", totals.split_lines),
        ("giant documents cut", totals.cut_documents),
        ("sentences without a token", totals.sentences_without_tokens),
        ("bytes read", totals.bytes_read),
        ("bytes lost", totals.bytes_lost),
    ]
    rows = [(name, show.number(value)) for name, value in counts]
    unknown = totals.unknown_tokens / max(1, totals.tokens)
    rows.insert(3, ("unknown tokens", f"{100 * unknown:.3f} %"))
    if prepared.manifest.word_segmenter:
        rows.append(
            ("sentences not aligned", show.number(totals.unaligned_sentences))
        )
    if not prepared.was_complete:
        rows.append(("time", show.duration(prepared.seconds)))
    console.print(show.table(None, ("", str(prepared.folder)), rows))
    for warning in warnings_of(totals):
        console.print(warning, style="yellow")


def warnings_of(totals):
    """Sentences about what deserves a second look."""
    from keras_albert.cli import show

    if totals.cut_documents:
        yield (
            f"{show.number(totals.cut_documents)} documents of more than 1 MiB "
            "were cut into several. Does a blank line separate documents?"
        )
    single = totals.one_sentence_documents / max(1, totals.documents)
    if single > 0.5:
        yield (
            f"{show.percent(single)} of the documents are a single sentence: "
            "they teach no sentence order. Is there a blank line between "
            "sentences?"
        )
    unknown = totals.unknown_tokens / max(1, totals.tokens)
    if unknown > 0.02:
        yield (
            f"{show.percent(unknown)} of the tokens are unknown. Does the "
            "tokenizer fit the language of the corpus?"
        )
