"""Writes an explained example in colour, and so that it reads without."""

# How each fate looks: a colour, and signs for where there are none.
_STYLES = {
    "[MASK]": ("bold white on red", "[", "]"),
    "random word": ("bold black on yellow", "?", "?"),
    "left as it is": ("bold black on green", "=", "="),
}


def example_lines(example):
    """The lines to print for one example.

    Args:
        example: `ExplainedExample`.

    Returns:
        A list of `rich` renderables.
    """
    from rich.text import Text

    lines = [_order(example), Text()]
    for name, text in (("A", example.first), ("B", example.second)):
        if text:
            lines.append(Text.assemble((f"{name}  ", "bold"), text))
    lines += [
        Text(),
        Text("What the model sees", "bold"),
        _tokens(example, example.shown),
        Text(),
        Text("What was written", "bold"),
        _tokens(example, example.original),
        Text(),
        _legend(),
        _targets(example),
        _counts(example),
    ]
    return lines


def _order(example):
    from rich.text import Text

    if example.swapped is None:
        return Text("One segment: masked words only, no sentence order.")
    if example.swapped:
        return Text.assemble(
            ("Swapped", "bold magenta"),
            " (label 1): in the text, B comes before A.",
        )
    return Text.assemble(
        ("In order", "bold cyan"), " (label 0): in the text, A comes before B."
    )


def _tokens(example, pieces):
    from rich.text import Text

    reasons = {t.position: t.reason for t in example.targets}
    text = Text()
    for position, piece in enumerate(pieces):
        if position:
            text.append(" ")
        if position in reasons:
            style, before, after = _STYLES[reasons[position]]
            is_sign = piece.startswith("[") and piece.endswith("]")
            text.append(piece if is_sign else before + piece + after, style)
        else:
            special = position in example.special_positions
            text.append(piece, "dim" if special else "")
    return text


def _legend():
    from rich.text import Text

    text = Text("Predicted: ")
    for number, (reason, (style, before, after)) in enumerate(_STYLES.items()):
        text.append("   " if number else "")
        text.append(f"{before}word{after}", style)
        text.append(f" {reason}")
    return text


def _targets(example):
    from keras_albert.cli import show

    span_of = {
        position: f"{number}: {' '.join(example.original[p] for p in span)}"
        for number, span in enumerate(example.spans, start=1)
        for position in span[:1]
    }
    rows = [
        (
            target.target,
            target.shown,
            target.reason,
            target.position,
            span_of.get(target.position, ""),
        )
        for target in example.targets
    ]
    table = show.table(
        None, ("right answer", "shown", "why", "position", "span"), rows
    )
    for column in (1, 2, 4):
        table.columns[column].justify = "left"
    return table


def _counts(example):
    from rich.text import Text

    num_tokens = len(example.original)
    return Text(
        f"{num_tokens} tokens, {len(example.targets)} of them predicted, in "
        f"{len(example.spans)} spans; {example.num_padding} places of padding."
    )
