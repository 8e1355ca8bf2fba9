import io

from rich.console import Console

from keras_albert.cli.explained_text import example_lines
from keras_albert.data.explanation import ExplainedExample
from keras_albert.data.explanation import ExplainedTarget

EXAMPLE = ExplainedExample(
    original=["[CLS]", "a", "b", "c", "[SEP]", "d", "e", "[SEP]"],
    shown=["[CLS]", "[MASK]", "x", "c", "[SEP]", "d", "e", "[SEP]"],
    targets=[
        ExplainedTarget(1, "[MASK]", "a", "[MASK]"),
        ExplainedTarget(2, "x", "b", "random word"),
        ExplainedTarget(5, "d", "d", "left as it is"),
    ],
    first="a b c",
    second="d e",
    swapped=True,
    special_positions=[0, 4, 7],
    spans=[[1, 2], [5]],
    num_padding=12,
)


def printed(example, **settings):
    file = io.StringIO()
    console = Console(file=file, width=100, highlight=False, **settings)
    for line in example_lines(example):
        console.print(line)
    return file.getvalue()


def test_all_is_said_without_colour():
    text = printed(EXAMPLE)

    assert "Swapped (label 1): in the text, B comes before A." in text
    assert "A  a b c\n" in text
    assert "B  d e\n" in text
    assert "[CLS] [MASK] ?x? c [SEP] =d= e [SEP]" in text
    assert "[CLS] [a] ?b? c [SEP] =d= e [SEP]" in text
    assert (
        "8 tokens, 3 of them predicted, in 2 spans; 12 places of padd" in text
    )
    rows = [line.split() for line in text.splitlines()]
    assert ["a", "[MASK]", "[MASK]", "1", "1:", "a", "b"] in rows
    assert ["b", "x", "random", "word", "2"] in rows
    assert ["d", "d", "left", "as", "it", "is", "5", "2:", "d"] in rows


def test_each_fate_has_a_colour():
    text = printed(EXAMPLE, force_terminal=True, color_system="standard")

    assert "\x1b[1;37;41m[MASK]\x1b[0m" in text
    assert "\x1b[1;30;43m?x?\x1b[0m" in text
    assert "\x1b[1;30;42m=d=\x1b[0m" in text


def test_order_is_said_in_words():
    from dataclasses import replace

    in_order = printed(replace(EXAMPLE, swapped=False))
    single = printed(replace(EXAMPLE, swapped=None, second=""))

    assert "In order (label 0): in the text, A comes before B." in in_order
    assert "One segment" in single
    assert "\nB  " not in single
