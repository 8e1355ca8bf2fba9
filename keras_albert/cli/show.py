"""What commands print: one console, tables and progress bars."""

import contextlib


def console():
    """The console for results; nothing but results goes there.

    Texts and paths are shown as they are, brackets and colons included.
    """
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def table(title, columns, rows, caption=None):
    """Makes a table; columns after the first are numbers, to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for index, column in enumerate(columns):
        result.add_column(column, justify="right" if index else "left")
    for row in rows:
        result.add_row(*(Text(str(cell)) for cell in row))
    return result


@contextlib.contextmanager
def progress_bars(percentages=False):
    """A `rich.progress.Progress` on stderr, so that pipes stay clean.

    Args:
        percentages: bool. Whether to show shares instead of counts, for work
            that is counted in bytes. Defaults to `False`.
    """
    from rich.console import Console
    from rich.progress import BarColumn
    from rich.progress import MofNCompleteColumn
    from rich.progress import Progress
    from rich.progress import TaskProgressColumn
    from rich.progress import TextColumn
    from rich.progress import TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TaskProgressColumn() if percentages else MofNCompleteColumn(),
        # What is left; when finished, what it took.
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield progress


def number(value):
    """A count with thousands apart: 11683584 -> '11,683,584'."""
    return f"{value:,}"


def percent(value):
    """A share: 0.8012 -> '80.1 %'."""
    return f"{100 * value:.1f} %"


def megabytes(num_bytes):
    """A file size: 5_300_000 -> '5.3 MB'."""
    return f"{num_bytes / 1e6:.1f} MB"


def duration(seconds):
    """A time: 100 -> '1 min 40 s'."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
