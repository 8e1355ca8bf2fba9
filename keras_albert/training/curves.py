"""The history of a run: kept as rows, shown as a picture and as a table.

A history is a list of records, one dict per held-out evaluation, in step
order. Every value is a number and `"step"` is always there; the other keys are
Keras's log names (`"masked_lm_loss"`, `"val_sentence_order_accuracy"`, …).
"""

import csv
import io
import json
from pathlib import Path

from keras_albert.data.whole_files import replace_atomically
from keras_albert.data.whole_files import write_atomically

TABLE_COLUMNS = (
    ("step", "step", "{:d}"),
    ("masked_lm_loss", "MLM loss", "{:.3f}"),
    ("val_masked_lm_loss", "held-out MLM loss", "{:.3f}"),
    ("val_masked_lm_accuracy", "held-out MLM accuracy", "{:.1%}"),
    ("val_sentence_order_loss", "held-out SOP loss", "{:.3f}"),
    ("val_sentence_order_accuracy", "held-out SOP accuracy", "{:.1%}"),
    ("seconds", "seconds", "{:.0f}"),
)

_BLUE, _ORANGE, _GREY = "#2a6fbb", "#d9761a", "#555555"


def write_history(history, path):
    """Writes the records to `path`: `.csv` as CSV, all else as JSON lines."""
    path = Path(path)
    if path.suffix == ".csv":
        write_atomically(path, _to_csv(history))
    else:
        lines = [json.dumps(record) + "\n" for record in history]
        write_atomically(path, "".join(lines))


def read_history(path):
    """Returns the records that `write_history` wrote."""
    text = Path(path).read_text(encoding="utf-8")
    if Path(path).suffix == ".csv":
        rows = csv.DictReader(io.StringIO(text))
        return [
            {key: _number(value) for key, value in row.items() if value != ""}
            for row in rows
        ]
    return [json.loads(line) for line in text.splitlines()]


def curves_table(history):
    """Returns `(header, rows)` of strings, one row per evaluation.

    Columns that no record has are left out; a value one record lacks is `""`.

    Example:

    >>> curves_table([{"step": 10, "val_masked_lm_loss": 6.5}])
    (['step', 'held-out MLM loss'], [['10', '6.500']])
    """
    columns = [
        column
        for column in TABLE_COLUMNS
        if any(column[0] in record for record in history)
    ]
    rows = [
        [
            pattern.format(record[key]) if key in record else ""
            for key, _, pattern in columns
        ]
        for record in history
    ]
    return [title for _, title, _ in columns], rows


def plot_curves(history, path, masked_lm_floor=None, title=None):
    """Draws the two objectives over the steps of a run.

    On top the masked-LM loss with the unigram floor as a dashed line, below
    the sentence-order accuracy with chance as a dashed line; training thin and
    pale, held-out text bold, with the last held-out value written beside it.

    Args:
        history: list of records; see the module.
        path: string or path of the picture, usually `.png`.
        masked_lm_floor: float, optional. See `floors.unigram_cross_entropy`.
        title: string, optional.
    """
    # The object interface: no pyplot, no window, no state left behind.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if not history:
        raise ValueError(
            "There is nothing to draw: the history is empty. Draw it after "
            "the first evaluation."
        )
    with_order = any(
        key.endswith("sentence_order_accuracy")
        for record in history
        for key in record
    )
    figure = Figure(figsize=(7.5, 6.4 if with_order else 3.8), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.subplots(2 if with_order else 1, 1, sharex=True, squeeze=0)
    top, bottom = axes[0, 0], axes[-1, 0]

    _draw_metric(top, history, "masked_lm_loss", _BLUE, "{:.2f}")
    top.set_ylabel("masked-LM loss (nats)")
    if masked_lm_floor is not None:
        _draw_floor(
            top, masked_lm_floor, f"unigram floor {masked_lm_floor:.2f}"
        )
    _draw_legend(top)
    if with_order:
        _draw_metric(
            bottom, history, "sentence_order_accuracy", _ORANGE, "{:.1%}"
        )
        bottom.set_ylabel("sentence-order accuracy")
        _draw_floor(bottom, 0.5, "chance 50%")
        bottom.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        bottom.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        bottom.set_ylim(bottom=min(0.47, bottom.get_ylim()[0]))
        _draw_legend(bottom)
    bottom.set_xlabel("step")
    bottom.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    # Room for the value written behind the last point.
    last = max(record["step"] for record in history)
    bottom.set_xlim(0, last * 1.1)
    if title:
        figure.suptitle(title, x=0.02, ha="left", fontsize=11)
    figure.tight_layout()
    with replace_atomically(path) as temporary:
        figure.savefig(temporary)


def _draw_metric(axes, history, key, colour, pattern):
    for name, label, style in (
        (key, "training", {"linewidth": 1.2, "alpha": 0.45}),
        ("val_" + key, "held out", {"linewidth": 2.0, "marker": "o"}),
    ):
        points = [(r["step"], r[name]) for r in history if name in r]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                color=colour,
                label=label,
                markersize=3.5,
                **style,
            )
        if points and name.startswith("val_"):
            axes.annotate(
                pattern.format(points[-1][1]),
                points[-1],
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                color=colour,
                fontweight="bold",
                fontsize=9,
            )
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_floor(axes, value, label):
    axes.axhline(value, color=_GREY, linestyle="--", linewidth=1.2, label=label)


def _draw_legend(axes):
    # Above the panel: inside it, every corner may hold a curve.
    axes.legend(
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
        fontsize=9,
        borderaxespad=0.2,
    )


def _to_csv(history):
    keys = list(dict.fromkeys(key for record in history for key in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, keys, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def _number(text):
    return int(text) if text.lstrip("-").isdigit() else float(text)
