"""`keras-albert inspect-corpus`: what a corpus looks like before training."""

from pathlib import Path
from typing import Annotated

import typer

BAR_WIDTH = 36
EIGHTHS = " ▏▎▍▌▋▊▉"
SIGNS = {
    "control_characters": "control characters",
    "html_tags": "HTML tags",
    "html_entities": "HTML entities",
    "links": "web addresses",
    "wiki_markup": "wiki markup",
    "replacement_characters": "U+FFFD (lost letters)",
    "misread_utf8": "misread UTF-8",
}


def inspect_corpus(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Text (a blank line ends a document) or JSON lines with a "
            "`text` field; .gz of both; quoted patterns work too.",
            show_default=False,
        ),
    ],
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Count tokens, unknown ones and examples with this one: a "
            "SentencePiece .model, a WordPiece vocab.txt or a model's folder.",
        ),
    ] = None,
    sample: Annotated[
        float,
        typer.Option(
            help="Share of the documents to look at closely; all are read."
        ),
    ] = 1.0,
    text_field: Annotated[
        str, typer.Option(help="Field of JSON lines with the text.")
    ] = "text",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the histograms: .png."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON.")
    ] = False,
):
    """Look at a corpus: lengths, faults, repeats, scripts, and advice.

    The exit code is 1 if pretraining on it would be meaningless.
    """
    from keras_albert.cli import show
    from keras_albert.data import corpus_advice
    from keras_albert.data import corpus_problems
    from keras_albert.data import inspect_corpus
    from keras_albert.data.corpus import find_files
    from keras_albert.data.inspection_plot import check_picture
    from keras_albert.data.inspection_plot import plot_report
    from keras_albert.tokenizers import load_encoder

    if plot is not None:
        check_picture(plot)
    encoder = None if tokenizer is None else load_encoder(tokenizer)
    paths = find_files(files)
    with show.progress_bars(percentages=True) as bars:
        task = bars.add_task(
            "Reading", total=sum(path.stat().st_size for path in paths)
        )
        report = inspect_corpus(
            paths,
            encoder,
            sample=sample,
            text_field=text_field,
            progress=lambda num_bytes: bars.advance(task, num_bytes),
        )
    problems, advice = corpus_problems(report), corpus_advice(report)
    if plot is not None:
        plot_report(report, plot)
    if as_json:
        print_json(report, problems, advice)
    else:
        print_report(report, show.console())
        print_verdict(problems, advice, plot, show.console())
    if problems:
        raise typer.Exit(1)


def print_json(report, problems, advice):
    """Prints the report, the problems and the advice as one JSON object."""
    import json

    content = {**report.to_dict(), "problems": problems, "advice": advice}
    print(json.dumps(content, indent=2, ensure_ascii=False))


def print_report(report, console):
    """Prints figures as tables and histograms as bars."""
    from keras_albert.cli import show

    console.print(show.table(None, ("Corpus", ""), figures(report)))
    console.print("Sentences per document")
    print_bars(report.sentences_per_document, console)
    if report.tokens is None:
        console.print("\nCharacters per sentence")
        print_bars(report.characters_per_sentence, console)
    else:
        console.print("\nTokens per sentence")
        print_bars(report.tokens.tokens_per_sentence, console)
    console.print()


def figures(report):
    """Lists the rows of the table: names and values."""
    from keras_albert.cli import show
    from keras_albert.data.inspection_advice import guess_language

    about = "about " if report.is_sample else ""
    stored = sum(scan.stored_bytes for scan in report.files)
    text = sum(scan.text_bytes for scan in report.files)
    sentences = report.characters_per_sentence
    measured_documents = max(1, report.num_measured_documents)
    rows = [
        ("files", show.number(len(report.files))),
        ("size", show.megabytes(stored)),
        ("text", show.megabytes(text)),
        ("documents", show.number(report.num_documents)),
        (
            "of one sentence",
            show.percent(
                report.num_one_sentence_documents / measured_documents
            ),
        ),
        ("lines", show.number(report.num_lines)),
        ("sentences", about + show.number(report.whole(sentences.count))),
        ("characters", show.number(report.num_characters)),
        ("different characters", show.number(report.num_distinct_characters)),
        ("longest line", show.number(longest_line(report)) + " characters"),
        ("repeated documents", repeated(report.documents)),
        ("repeated lines", repeated(report.lines)),
    ]
    rows += [
        (f"letters of {name}", show.percent(share))
        for name, share in list(report.scripts.items())[:4]
        if share >= 0.001
    ]
    rows.append(("probably", guess_language(report.scripts)))
    rows += [
        (f"lines with {SIGNS[name]}", show.number(report.whole(count)))
        for name, count in report.signs.items()
        if count
    ]
    return rows + token_figures(report, about)


def token_figures(report, about):
    """Lists the rows that need a tokenizer."""
    from keras_albert.cli import show
    from keras_albert.data.inspection_advice import has_spaces

    tokens = report.tokens
    if tokens is None:
        return []
    per_word = []
    if has_spaces(report.scripts):
        share = tokens.num_tokens / max(1, report.num_words)
        per_word = [("tokens per word", f"{share:.2f}")]
    per_character = tokens.num_tokens / max(1, report.num_measured_characters)
    unknown = tokens.num_unknown / max(1, tokens.num_tokens)
    return [
        ("tokens", about + show.number(report.whole(tokens.num_tokens))),
        ("unknown tokens", f"{100 * unknown:.2f} %"),
        *per_word,
        ("tokens per character", f"{per_character:.2f}"),
        *(
            (
                f"examples of {length} tokens",
                f"about {show.number(report.whole(count))}",
            )
            for length, count in tokens.num_examples.items()
        ),
    ]


def longest_line(report):
    """Characters of the longest line of all files."""
    return max((scan.longest_line for scan in report.files), default=0)


def repeated(repeats):
    """Share of repeats, and whether it is an estimate."""
    from keras_albert.cli import show

    estimate = " (estimate)" if repeats.is_estimate else ""
    return show.percent(repeats.share) + estimate


def print_bars(histogram, console):
    """Prints a histogram, a line for each bin."""
    from keras_albert.cli import show
    from keras_albert.data.inspection_plot import bin_label

    bins = histogram.bins()
    largest = max((count for *_, count in bins), default=1)
    for first, last, count in bins:
        console.print(
            f"{bin_label(first, last):>17} "
            f"{bar(count / largest):<{BAR_WIDTH}} {show.number(count)}"
        )
    console.print(
        f"{'median':>17} {show.number(histogram.quantile(0.5))}, mean "
        f"{histogram.mean:.1f}, largest {show.number(histogram.largest)}",
        style="dim",
    )


def bar(share):
    """Draws a share of the full width; what is not nothing is seen.

    >>> bar(0.25)
    '█████████'
    """
    eighths = round(8 * BAR_WIDTH * share)
    if share and not eighths:
        eighths = 1
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def print_verdict(problems, advice, plot, console):
    """Prints what to do, the worst first."""
    for text in problems:
        console.print(f"✗ {text}", style="red", markup=False, soft_wrap=True)
    for text in advice:
        console.print(f"• {text}", style="yellow", markup=False, soft_wrap=True)
    if plot is not None:
        console.print(f"Picture: {plot}", markup=False)
    if problems:
        return
    so_far = "with the advice above" if advice else "nothing stands out"
    console.print(f"✓ Fit for pretraining, {so_far}.", style="green")
