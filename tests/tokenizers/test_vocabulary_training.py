"""Training a vocabulary: layout, feasible size, no lost line, same bytes."""

import random

import pytest
import sentencepiece

from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.vocabulary_training import MAX_LINE_BYTES
from keras_albert.tokenizers.vocabulary_training import (
    choose_character_coverage,
)
from keras_albert.tokenizers.vocabulary_training import covered_characters
from keras_albert.tokenizers.vocabulary_training import sample_lines
from keras_albert.tokenizers.vocabulary_training import split_long_line
from keras_albert.tokenizers.vocabulary_training import train_tokenizer


@pytest.fixture(scope="module")
def lines():
    generator = random.Random(1)
    letters = "etaoinshrdlucmfwyp"
    words = [
        "".join(generator.choices(letters, k=generator.randrange(2, 9)))
        for _ in range(300)
    ]
    return [
        " ".join(generator.choices(words, k=12)).capitalize() + "."
        for _ in range(500)
    ]


def test_layout_of_the_ids(lines, tmp_path):
    summary = train_tokenizer(lines, 200, tmp_path / "a.model")

    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(summary.path)
    )
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    marks = ["(", ")", '"', "-", ".", "–", "£", "€"]
    found = [processor.id_to_piece(i) for i in range(13)]
    assert found == special + marks
    assert (processor.bos_id(), processor.eos_id()) == (-1, -1)
    assert (processor.pad_id(), processor.unk_id()) == (0, 1)
    assert [processor.is_control(i) for i in range(5)] == [1, 0, 1, 1, 1]
    assert processor.vocab_size() == summary.size == 200
    assert not summary.is_reduced


def test_text_is_normalised_first(tmp_path):
    lines = ["ÉCOLE Été Noël"] * 50 + ["l'été à l'école"] * 50

    train_tokenizer(lines, 60, tmp_path / "a.model")

    tokenizer = load_tokenizer(tmp_path / "a.model")
    pieces = "".join(tokenizer.get_vocabulary()[13:])
    assert pieces == pieces.lower()
    assert "é" not in pieces
    assert tokenizer.unk_token_id not in tokenizer("École NOËL été")


def test_options_are_stored(lines, tmp_path):
    train_tokenizer(
        lines,
        200,
        tmp_path / "a.model",
        lowercase=False,
        split_digit_comma=False,
    )

    tokenizer = load_tokenizer(tmp_path / "a.model")
    assert not tokenizer.lowercase
    assert not tokenizer.split_digit_comma
    assert tokenizer.strip_accents
    capitals = {c for p in tokenizer.get_vocabulary()[13:] for c in p}
    assert "T" in capitals


def test_a_small_corpus_gives_a_smaller_vocabulary(lines, tmp_path):
    summary = train_tokenizer(lines[:20], 30_000, tmp_path / "a.model")

    tokenizer = load_tokenizer(summary.path)
    assert summary.is_reduced
    assert summary.requested_size == 30_000
    assert 50 < summary.size < 1000
    assert tokenizer.vocabulary_size() == summary.size


def test_same_seed_gives_the_same_bytes(lines, tmp_path):
    def train(name, seed):
        return train_tokenizer(
            iter(lines), 100, tmp_path / name, seed=seed, max_sentences=60
        )

    one, two, other = train("1", 5), train("2", 5), train("3", 6)

    assert one.path.read_bytes() == two.path.read_bytes()
    assert one.sha256 == two.sha256 != other.sha256
    assert (one.num_lines_seen, one.num_lines_used) == (500, 60)


def test_no_long_line_is_lost(tmp_path):
    # Each long line alone holds the letters that the vocabulary must know.
    rare = "qxz"
    lines = ["the cat sat on a mat"] * 50
    lines += [f"{letter}ab " * 3000 for letter in rare] + ["é" * 5000]

    summary = train_tokenizer(lines, 60, tmp_path / "a.model")

    pieces = "".join(load_tokenizer(summary.path).get_vocabulary())
    assert set(rare) <= set(pieces)
    assert summary.num_long_lines_split == 4
    assert summary.num_characters == summary.num_characters_covered


def test_lines_with_reserved_marks_are_not_lost(tmp_path):
    lines = ["the cat"] * 50 + ["q\tq", "x\0x", "z▅z", "j▁j", "v⁇v"] * 20

    summary = train_tokenizer(lines, 60, tmp_path / "a.model")

    pieces = "".join(load_tokenizer(summary.path).get_vocabulary())
    assert set("qxzjv") <= set(pieces)


@pytest.mark.parametrize(
    "line, parts",
    [
        ("short", ["short"]),
        ("Aa. Bb cc dd.", ["Aa.", "Bb cc dd."]),
        ("aaa bbb ccc ddd", ["aaa bbb", "ccc ddd"]),
        ("a" * 25, ["a" * 10, "a" * 10, "a" * 5]),
        ("你好。世界。中", ["你好。", "世界。", "中"]),
        ("中" * 7, ["中" * 3, "中" * 3, "中"]),
    ],
)
def test_where_long_lines_are_cut(line, parts):
    assert split_long_line(line, max_bytes=10) == parts


def test_cutting_keeps_all_text():
    line = " ".join(map(str, range(3000))) + "中" * 3000

    parts = split_long_line(line)

    assert "".join(parts).replace(" ", "") == line.replace(" ", "")
    assert max(len(part.encode()) for part in parts) <= MAX_LINE_BYTES


def test_sample_is_in_order_and_fair():
    hits = [0] * 20
    for seed in range(2000):
        sample = sample_lines(map(str, range(20)), 5, seed)
        numbers = [int(line) for line in sample.lines]
        assert numbers == sorted(set(numbers))
        for number in numbers:
            hits[number] += 1

    # 2000 draws of 5 in 20: each number 500 times, standard deviation 19.
    assert sample.num_used == 5
    assert all(abs(count - 500) < 5 * 19.4 for count in hits)


def test_coverage_by_script():
    assert choose_character_coverage({"a": 9, "中": 1}) == 0.99995
    assert choose_character_coverage({"a": 1, "中": 2, "か": 2}) == 0.9995
    assert choose_character_coverage({"a": 1, "각": 2}) == 0.9995


def test_covered_characters():
    counts = {"a": 90, "b": 9, "c": 1}

    assert covered_characters(counts, 1.0) == {"a", "b", "c"}
    assert covered_characters(counts, 0.99) == {"a", "b"}


def test_smallest_size_that_is_accepted_can_be_trained(lines, tmp_path):
    with pytest.raises(ValueError, match="too small") as caught:
        train_tokenizer(lines, 20, tmp_path / "a.model")
    needed = int(str(caught.value).split("are ")[1].split(" pieces")[0])

    with pytest.raises(ValueError, match="too small"):
        train_tokenizer(lines, needed - 1, tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()
    assert train_tokenizer(lines, needed, tmp_path / "a.model").size == needed


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"texts": []}, ValueError, "no text"),
        ({"texts": ["", " \t"]}, ValueError, "no text"),
        ({"texts": "corpus.txt"}, TypeError, "iterable of strings"),
        ({"texts": [1]}, TypeError, "type int: 1"),
        ({"vocabulary_size": 13}, ValueError, "above 13"),
        ({"max_sentences": 0}, ValueError, "at least 1"),
        ({"character_coverage": 0.5}, ValueError, "between 0.98 and 1"),
        ({"output": "."}, ValueError, "is a folder"),
    ],
)
def test_bad_arguments(lines, tmp_path, arguments, error, message):
    good = {
        "texts": lines,
        "vocabulary_size": 100,
        "output": tmp_path / "a.model",
    }

    with pytest.raises(error, match=message):
        train_tokenizer(**{**good, **arguments})

    assert list(tmp_path.iterdir()) == []


def test_nothing_but_the_model_is_left(lines, tmp_path):
    train_tokenizer(lines, 100, tmp_path / "new" / "a.model")

    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.model"]
