"""Measures, against lists that hold everything."""

import random
from collections import Counter

import numpy as np
import pytest

from keras_albert.data.corpus_measures import ExampleCounter
from keras_albert.data.corpus_measures import Histogram
from keras_albert.data.corpus_measures import RepeatCounter
from keras_albert.data.corpus_measures import script_of
from keras_albert.data.corpus_measures import script_shares


def test_histogram_against_the_list():
    values = np.random.default_rng(0).geometric(0.02, 5000).tolist()
    histogram = Histogram()

    for value in values:
        histogram.add(value)

    assert histogram.count == 5000
    assert histogram.mean == pytest.approx(np.mean(values))
    assert histogram.largest == max(values)
    for share in (0.1, 0.5, 0.95):
        expected = np.quantile(values, share, method="inverted_cdf")
        assert histogram.quantile(share) == expected
    for first, last, count in histogram.bins():
        assert count == sum(first <= value <= last for value in values)
    assert sum(count for *_, count in histogram.bins()) == 5000


def test_bins_have_no_holes():
    histogram = Histogram()
    for value in (1, 2, 3, 9):
        histogram.add(value)

    assert histogram.bins() == [(1, 1, 1), (2, 2, 1), (3, 4, 1), (5, 8, 0),
                                (9, 16, 1)]  # fmt: skip
    assert Histogram().bins() == []
    assert Histogram().quantile(0.5) == 0


def test_large_numbers_take_little_room():
    histogram = Histogram()
    for value in range(1_000_000, 1_100_000):
        histogram.add(value)

    assert len(histogram._counts) == 1
    assert histogram.quantile(0.5) == 1_000_000
    assert histogram.mean == pytest.approx(1_049_999.5)


def test_repeats_are_exact_while_all_are_known():
    texts = ["a", "b", "a", "c", "a", "b"]
    counter = RepeatCounter()

    for text in texts:
        counter.add(text)

    assert counter.share == 3 / 6
    assert counter.most_repeated() == [("a", 3), ("b", 2)]
    assert not counter.is_estimate


def test_repeats_are_estimated_in_bounded_memory():
    draw = random.Random(0)
    texts = [str(draw.randrange(30_000)) for _ in range(60_000)]
    counter = RepeatCounter(max_known=2000)

    for text in texts:
        counter.add(text)
        assert len(counter._known) <= 2000

    assert counter.is_estimate
    expected = 1 - len(set(texts)) / len(texts)
    assert counter.share == pytest.approx(expected, abs=0.02)
    # What is known is counted from its first time.
    times = Counter(texts)
    assert all(times[text] == n for text, n in counter.most_repeated(50))


def test_examples_by_hand():
    counter = ExampleCounter(13)  # room for ten tokens
    for document in ([4, 5], [4, 6, 1], [25], [10], [3, 9, 9], []):
        for num_tokens in document:
            counter.add_sentence(num_tokens)
        counter.end_document()

    # 4+5 | 4+6, 1 | 10, 10, 5 | 10 | 3+9, 9 |
    assert counter.count == 1 + 2 + 3 + 1 + 2


@pytest.mark.parametrize(
    "character, script",
    [
        ("a", "Latin"),
        ("É", "Latin"),
        ("Ａ", "Latin"),
        ("ж", "Cyrillic"),
        ("中", "Han"),
        ("ひ", "Kana"),
        ("ｶ", "Kana"),
        ("한", "Hangul"),
        ("ب", "Arabic"),
        ("ि", "Devanagari"),
        ("1", ""),
        (",", ""),
        ("\u0301", ""),
    ],
)
def test_script_of_a_character(character, script):
    assert script_of(character) == script


def test_scripts_without_letters():
    assert script_shares({"1": 3, " ": 2}) == {}
