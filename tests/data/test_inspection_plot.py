"""The picture of a report."""

import pytest

from keras_albert.data.inspection import inspect_corpus
from keras_albert.data.inspection_plot import bin_label
from keras_albert.data.inspection_plot import plot_report


@pytest.mark.parametrize("with_tokenizer", [False, True])
def test_picture_is_written(tmp_path, toy_tokenizer, with_tokenizer):
    corpus = tmp_path / "a.txt"
    corpus.write_text("One. Two. Three.\n\nFour.\n")
    report = inspect_corpus(corpus, toy_tokenizer if with_tokenizer else None)

    path = plot_report(report, tmp_path / "new" / "a.png")

    assert path.read_bytes().startswith(b"\x89PNG")


def test_labels_say_what_is_drawn(tmp_path):
    corpus = tmp_path / "a.txt"
    corpus.write_text("One. Two. Three.\n\nFour.\n")

    path = plot_report(inspect_corpus(corpus), tmp_path / "a.svg")

    assert "sentences of a document" in path.read_text()


def test_ending_that_is_no_picture(tmp_path):
    with pytest.raises(ValueError, match="must end in .png, .pdf, .svg"):
        plot_report(None, tmp_path / "a.doc")


def test_bin_label():
    assert bin_label(2, 2) == "2"
    assert bin_label(1025, 2048) == "1,025–2,048"
