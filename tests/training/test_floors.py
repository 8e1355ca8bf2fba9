import csv
import gzip
import math

import numpy as np
import pytest

from keras_albert.training import floors


def test_uniform_counts_cost_the_logarithm_of_the_vocabulary():
    cost = floors.unigram_cross_entropy(np.full(7, 5), [[0, 3], [6, 6]])

    assert cost == pytest.approx(math.log(7))


def test_cross_entropy_by_hand():
    cost = floors.unigram_cross_entropy([2, 0, 1], [0, 1, 2], smoothing=1.0)

    expected = -(math.log(3 / 6) + math.log(1 / 6) + math.log(2 / 6)) / 3
    assert cost == pytest.approx(expected)


def test_unigram_accuracy_is_the_share_of_the_commonest_id():
    counts = floors.count_tokens([4, 4, 1, 0], vocabulary_size=6)

    assert counts.tolist() == [1, 1, 0, 0, 2, 0]
    assert floors.unigram_accuracy(counts, [4, 1, 4, 5]) == 0.5


def test_a_floor_of_no_targets_is_refused():
    with pytest.raises(ValueError, match="Hold out more text"):
        floors.unigram_cross_entropy([1, 1], [])


def test_majority_answers_the_commonest_training_label():
    assert floors.majority_accuracy(["x", "y", "x"], ["y", "y", "x"]) == 1 / 3


def test_majority_of_no_labels_is_refused():
    with pytest.raises(ValueError, match="0 training"):
        floors.majority_accuracy([], ["x"])


def test_naive_bayes_needs_the_bigram_not_to_tie():
    train = ["not good", "good good", "not bad", "bad bad"]
    labels = ["-", "+", "+", "-"]

    accuracy = floors.naive_bayes_accuracy(
        train, labels, ["not bad", "Not good", "zebra"], ["+", "-", "+"]
    )

    assert accuracy == 1.0


def test_one_word_unseen_in_a_class_does_not_rule_the_class_out():
    train = ["fine fine fine", "dull dull odd"]

    accuracy = floors.naive_bayes_accuracy(
        train, ["z", "a"], ["fine fine fine odd"], ["z"]
    )

    assert accuracy == 1.0


def read_rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["text"], row["label"]) for row in rows]


@pytest.mark.parametrize(
    "folder, language, published",
    [("en_sentence_polarity", "en", 0.758), ("zh_topic_csl", "zh", 0.747)],
)
def test_naive_bayes_is_near_the_published_floor(
    shared_data, folder, language, published
):
    train = read_rows(shared_data / folder / "train.tsv.gz")
    test = read_rows(shared_data / folder / "test.tsv.gz")

    accuracy = floors.naive_bayes_accuracy(
        *zip(*train, strict=True), *zip(*test, strict=True), language
    )

    assert accuracy == pytest.approx(published, abs=0.015)


def test_unknown_language_is_refused():
    with pytest.raises(ValueError, match='"en" or "zh"'):
        floors.naive_bayes_accuracy(["a"], ["x"], ["a"], ["x"], "fr")
