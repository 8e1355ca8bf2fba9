import io

import numpy as np
import pytest

from keras_albert.cli import predict
from tests.export.tiny_classifiers import tiny_classifier


class Classifier:
    """Stands in for a model: its logits are known."""

    labels = ["bad", "good"]
    activation = None

    def predict(self, x, verbose):
        self.seen = x
        return np.array([[0.0, np.log(3.0)], [2.0, 2.0 - np.log(4.0)]])


def test_classify_turns_logits_into_probabilities():
    model = Classifier()

    labels, probabilities = predict.classify(model, [["a", "b"]])

    assert model.seen == ["a", "b"]
    assert labels == ["good", "bad"]
    np.testing.assert_allclose(probabilities, [[0.25, 0.75], [0.8, 0.2]])


def test_classify_takes_probabilities_as_they_are():
    def softmax():
        pass

    model = Classifier()
    model.activation = softmax

    _, probabilities = predict.classify(model, [["a", "b"]])

    assert probabilities[0, 1] == np.log(3.0)


def test_pairs_go_in_as_a_tuple_and_classes_without_names_are_numbers():
    model = Classifier()
    model.labels = None

    labels, _ = predict.classify(model, [["a", "b"], ["c", "d"]])

    assert model.seen == (["a", "b"], ["c", "d"])
    assert labels == ["1", "0"]


def test_lines_come_from_the_command_line_then_the_file(tmp_path):
    file = tmp_path / "texts"
    file.write_text("two\nthree\tpair\n", encoding="utf-8")

    lines = predict.read_lines(["one"], file)

    assert [predict.split_pair(line) for line in lines] == [
        ("one",),
        ("two",),
        ("three", "pair"),
    ]


def standard_input(monkeypatch, content):
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    monkeypatch.setattr(predict.sys, "stdin", stdin)


def test_standard_input(monkeypatch):
    standard_input(monkeypatch, "one\nzwölf\n".encode())

    assert predict.read_lines([], predict.Path("-")) == ["one", "zwölf"]


def test_a_line_ends_at_a_line_break_alone(tmp_path):
    file = tmp_path / "texts"
    file.write_bytes("\ufeffa\u2028b\x0bc\x85\r\n\r\nd".encode())

    assert predict.read_lines([], file) == ["a\u2028b\x0bc\x85", "", "d"]


def test_bytes_that_are_not_utf8(monkeypatch, tmp_path):
    standard_input(monkeypatch, b"a\nb\xff\n")
    file = tmp_path / "texts"
    file.write_bytes(b"a\nb\xff\n")

    for path, name in ((predict.Path("-"), "input"), (file, "texts")):
        with pytest.raises(ValueError, match=f"{name} is not UTF-8.*line 2"):
            predict.read_lines([], path)


def test_a_command_line_that_is_not_utf8():
    assert predict.read_lines(["caf\udce9"], None) == ["caf\ufffd"]


def test_nothing_to_classify():
    with pytest.raises(ValueError, match="nothing to classify"):
        predict.read_lines([], None)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="one text a line"):
        predict.read_lines([], tmp_path / "none")


def test_mixed_rows_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="same number of texts"):
        predict.answer(tmp_path, [("a",), ("a", "b")])


def test_a_regressor_is_said_to_give_no_labels(tmp_path):
    """Of one class alone, each text would have 100 %."""
    model = tiny_classifier("sentence_piece", num_classes=1)
    model.save_to_preset(str(tmp_path))

    with pytest.raises(ValueError, match="regressor, which gives no labels"):
        predict.answer(tmp_path, [("the film",)])
