"""A report's histograms as a picture."""

from pathlib import Path

PICTURES = (".png", ".pdf", ".svg")


def check_picture(path):
    """Raises a `ValueError` if the ending of a path is no known picture's."""
    if Path(path).suffix.lower() not in PICTURES:
        raise ValueError(
            f"A picture's name must end in {', '.join(PICTURES)}. "
            f"Received: {path}."
        )


def plot_report(report, path):
    """Draws sentences per document, lengths of sentences, and scripts.

    Args:
        report: `CorpusReport`.
        path: string or path of the picture; its ending says which kind.

    Returns:
        The path.

    Raises:
        ValueError: If the ending is not `.png`, `.pdf` or `.svg`.
    """
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    FigureCanvasAgg(figure)
    documents, sentences, scripts = figure.subplots(1, 3)
    _draw_bins(documents, report.sentences_per_document, "documents")
    documents.set_xlabel("sentences of a document")
    if report.tokens is None:
        _draw_bins(sentences, report.characters_per_sentence, "sentences")
        sentences.set_xlabel("characters of a sentence")
    else:
        _draw_bins(sentences, report.tokens.tokens_per_sentence, "sentences")
        sentences.set_xlabel("tokens of a sentence")
    shares = report.scripts.items()
    names = [name for name, share in shares if share >= 0.001][:6][::-1]
    scripts.barh(names, [100 * report.scripts[name] for name in names])
    scripts.set_xlim(0, 100)
    scripts.set_xlabel("% of the letters")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Path(path)


def _draw_bins(axes, histogram, what):
    bins = histogram.bins()
    axes.bar([bin_label(*b[:2]) for b in bins], [b[2] for b in bins])
    axes.set_ylabel(what)
    axes.tick_params("x", rotation=60)


def bin_label(first, last):
    """Writes the range of a bin.

    >>> bin_label(1, 1), bin_label(5, 8)
    ('1', '5–8')
    """
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
