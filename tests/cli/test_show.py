import io

import pytest
from rich.console import Console

from keras_albert.cli import show


@pytest.mark.parametrize(
    "function, value, text",
    [
        (show.number, 11683584, "11,683,584"),
        (show.percent, 0.8012, "80.1 %"),
        (show.megabytes, 5_340_000, "5.3 MB"),
        (show.duration, 59.4, "59 s"),
        (show.duration, 100, "1 min 40 s"),
        (show.duration, 119.9, "2 min 00 s"),
    ],
)
def test_numbers_as_text(function, value, text):
    assert function(value) == text


def test_table_holds_all_cells():
    out = io.StringIO()

    table = show.table("Title", ("a", "b"), [("x", 1), ("y", 22)], "Caption")
    Console(file=out, width=60).print(table)

    for text in ("Title", "Caption", "a", "b", "x", "1", "y", "22"):
        assert text in out.getvalue()


def test_text_is_shown_as_it_is():
    text = "[bold]x[/bold] [/b] [unused1] :smile:"
    out = io.StringIO()

    table = show.table(None, ("a", "b"), [(text, "[red]1")])
    Console(file=out, width=60).print(table)

    assert text in out.getvalue()
    assert "[red]1" in out.getvalue()


def test_the_console_shows_text_as_it_is(capsys):
    show.console().print("/tmp/[a]/[/b]:smile:")

    assert capsys.readouterr().out == "/tmp/[a]/[/b]:smile:\n"


def test_bars_go_to_stderr(capsys):
    with show.progress_bars() as progress:
        progress.advance(progress.add_task("reading", total=3), 3)

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3/3" in captured.err
