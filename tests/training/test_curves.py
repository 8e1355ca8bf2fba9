import pytest

from keras_albert.training import curves

HISTORY = [
    {
        "step": 100,
        "masked_lm_loss": 7.125,
        "val_masked_lm_loss": 7.0625,
        "val_masked_lm_accuracy": 0.0625,
        "sentence_order_accuracy": 0.5,
        "val_sentence_order_accuracy": 0.515625,
    },
    {"step": 200, "val_masked_lm_loss": 6.5, "val_masked_lm_accuracy": 0.25},
]


@pytest.mark.parametrize("name", ["history.jsonl", "history.csv"])
def test_history_comes_back_as_written(tmp_path, name):
    path = tmp_path / name

    curves.write_history(HISTORY, path)

    assert curves.read_history(path) == HISTORY
    assert isinstance(curves.read_history(path)[0]["step"], int)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_table_is_readable_and_leaves_unknown_values_blank():
    header, rows = curves.curves_table(HISTORY)

    assert header == [
        "step",
        "MLM loss",
        "held-out MLM loss",
        "held-out MLM accuracy",
        "held-out SOP accuracy",
    ]
    assert rows == [
        ["100", "7.125", "7.062", "6.2%", "51.6%"],
        ["200", "", "6.500", "25.0%", ""],
    ]


def drawn_axes(monkeypatch, tmp_path, history, **options):
    from matplotlib.figure import Figure

    figures = []
    save = Figure.savefig

    def keep(figure, *args, **kwargs):
        figures.append(figure)
        return save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", keep)
    curves.plot_curves(history, tmp_path / "curves.png", **options)
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert [p.name for p in tmp_path.iterdir()] == ["curves.png"]
    return figures[0].axes


def dashed(axes):
    return [
        line.get_ydata()[0]
        for line in axes.lines
        if line.get_linestyle() == "--"
    ]


def test_picture_shows_both_objectives_with_their_floors(monkeypatch, tmp_path):
    loss, order = drawn_axes(
        monkeypatch, tmp_path, HISTORY, masked_lm_floor=6.875
    )

    held_out = loss.get_lines()[1]
    assert held_out.get_label() == "held out"
    assert held_out.get_xydata().tolist() == [[100, 7.0625], [200, 6.5]]
    assert [text.get_text() for text in loss.texts] == ["6.50"]
    assert dashed(loss) == [6.875]
    assert dashed(order) == [0.5]


def test_picture_without_sentence_order_has_one_panel(monkeypatch, tmp_path):
    axes = drawn_axes(monkeypatch, tmp_path, HISTORY[1:])

    assert len(axes) == 1
    assert dashed(axes[0]) == []


@pytest.mark.parametrize("title", [None, "a run"])
def test_the_legends_cover_no_curve(monkeypatch, tmp_path, title):
    """A loss above its floor ends in the upper half of the picture."""
    history = [
        {**HISTORY[0], "step": step, "val_masked_lm_loss": 7.3}
        for step in (100, 200)
    ]

    panels = drawn_axes(
        monkeypatch, tmp_path, history, masked_lm_floor=6.5, title=title
    )

    size = panels[0].figure.bbox
    for axes in panels:
        legend = axes.get_legend().get_window_extent()
        shown = [axes.bbox, *(text.get_window_extent() for text in axes.texts)]
        assert not any(legend.overlaps(other) for other in shown)
        assert size.y0 <= legend.y0 < legend.y1 <= size.y1


def test_drawing_leaves_no_global_state(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()

    curves.plot_curves(HISTORY, tmp_path / "curves.png")

    assert pyplot.get_fignums() == before


def test_empty_history_is_refused(tmp_path):
    with pytest.raises(ValueError, match="history is empty"):
        curves.plot_curves([], tmp_path / "curves.png")

    assert not list(tmp_path.iterdir())
