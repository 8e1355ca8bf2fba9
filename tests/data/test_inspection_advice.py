"""Advice: given where it applies, and only there."""

import random
import re

import pytest

from keras_albert.data.inspection import inspect_corpus
from keras_albert.data.inspection_advice import corpus_advice
from keras_albert.data.inspection_advice import corpus_problems
from keras_albert.data.inspection_advice import guess_language


def sentences(number, seed=0, words="the cat sat on a mat and saw ten birds"):
    draw = random.Random(seed)
    words = words.split()
    return [
        " ".join(draw.choices(words, k=9)).capitalize() + f" {i}."
        for i in range(number)
    ]


@pytest.fixture
def judge(tmp_path):
    def judge(content, tokenizer=None, name="a.txt"):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        report = inspect_corpus(path, tokenizer)
        return corpus_problems(report), corpus_advice(report)

    return judge


def test_good_text_has_no_problem(judge):
    lines = sentences(200)
    text = "\n\n".join("\n".join(lines[i : i + 10]) for i in range(0, 200, 10))

    problems, advice = judge(text)

    assert problems == []
    (only,) = advice
    assert "characters are little" in only


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is empty: leave it out"),
        (b"\n \n", "holds only blanks"),
        (b"12 34\n" * 999, "There is no text: not one letter"),
        (b"Too short. Really.\n", "18 characters are too few"),
        ("\n\n".join(sentences(200)), "100.0 % of the documents have one sen"),
        ("\n".join(sentences(50)) * 3, r"6\d\.\d % of the lines repeat"),
        (
            ("\n".join(sentences(50)) + "\n\n") * 3,
            r"66.7 % of the documents repeat .* \(“.* 0.” 3 times",
        ),
        (
            "\n".join(sentences(99)).encode() + b"\n\xff\xfe x\n\xfe",
            r"not UTF-8 in 3 places on 2 lines \(line 100, 101\)",
        ),
        ("One.\nTwo.".encode("utf-16"), "is UTF-16: convert it with"),
    ],
)
def test_problems(judge, content, message):
    problems, _ = judge(content)

    assert len(problems) == 1 + ("repeat" in message and "docu" in message)

    assert re.search(message, problems[0])


def test_damaged_file(judge):
    problems, _ = judge(b"\x1f\x8b\x08", name="a.txt.gz")

    assert len(problems) == 1
    assert "cannot be read to its end" in problems[0]


def test_bad_rows(judge):
    problems, _ = judge("\n".join(sentences(100)), name="a.jsonl")

    assert "100 lines without JSON" in problems[0]
    assert "(line 1, 2, 3, 4, 5)" in problems[0]


class Letters:
    """Knows all words but those with a "z"."""

    unk_token_id = 0

    def __init__(self, ids_per_word=1):
        self.ids_per_word = ids_per_word

    def encode_batch(self, texts):
        return [
            [
                int("z" not in word)
                for word in text.split()
                for _ in range(self.ids_per_word)
            ]
            for text in texts
        ]


def test_unknown_tokens(judge):
    words = "the cat sat on a mat and saw ten"
    few = [s.replace("mat", "maz", 1) for s in sentences(99, words=words)]
    text = "\n".join(few)

    (problem,), _ = judge(text.replace("cat", "caz"), Letters())
    problems, advice = judge(text, Letters())
    _, silent = judge(text.replace("z", "t"), Letters())

    assert "of the tokens are unknown" in problem
    assert problems == []
    assert any("of the tokens are unknown" in a for a in advice)
    assert not any("unknown" in a for a in silent)


def test_words_of_many_tokens(judge):
    text = "\n".join(sentences(99))

    _, advice = judge(text, Letters(ids_per_word=3))
    _, silent = judge(text, Letters(ids_per_word=2))

    assert "A word takes 3.0 tokens" in " ".join(advice)
    assert "A word takes" not in " ".join(silent)


ADVICE = {
    "some documents of one sentence": (
        "\n\n".join(sentences(30)) + "\n\n" + "\n\n".join(
            a + "\n" + b
            for a, b in zip(sentences(30, 1), sentences(30, 2), strict=True)
        ),
        "50.0 % of the documents have one sentence",
    ),
    "one giant document": (
        "\n".join(sentences(5001)),
        "The longest document has 5,001 sentences",
    ),
    "some repeats": (
        "\n".join(sentences(80) + sentences(20)),
        "20.0 % of the lines repeat an earlier one",
    ),
    "long lines": (
        "\n".join(sentences(50)) + "\n" + " ".join(sentences(300)),
        "Lines of over 10,000 characters: 1 (the longest",
    ),
    "no end marks": (
        "\n".join(" ".join(sentences(40, i)) for i in range(9)).translate(
            {ord("."): None}
        ),
        "One in twenty sentences is over 1,000",
    ),
    "windows": ("\r\n".join(sentences(99)), "CR LF, as on Windows: 98;"),
    "tags": ("<p>" + "\n<p>".join(sentences(99)), "100.0 % of the lines hold "
             "HTML tags"),
    "a control character": (
        "\n".join(sentences(999)) + "\x07",
        "A few lines (1) hold control characters",
    ),
    "two scripts": (
        "\n".join(sentences(99)) + "\nОдин два три. Четыре пять." * 60,
        "The text mixes Latin",
    ),
    "no spaces": (
        "\n".join(f"第{i}句话没有空格。它是第{i}行。" for i in range(200)),
        "such as jieba",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ADVICE)
def test_advice_where_it_applies(judge, name):
    text, message = ADVICE[name]

    _, advice = judge(text)

    assert sum(message in item for item in advice) == 1


def test_too_few_characters_are_a_problem_not_advice(judge):
    problems, advice = judge("Too short. Really.")

    assert "too few" in problems[0]
    assert advice == []


def test_japanese_is_no_mixture(judge):
    _, advice = judge("漢字とかなをまぜてかく。" * 400)

    assert not any("mixes" in item for item in advice)
    assert any("a word segmenter to mask" in item for item in advice)


@pytest.mark.parametrize(
    "scripts, language",
    [
        ({}, "none"),
        ({"Latin": 1.0}, "English or another language in Latin letters"),
        ({"Han": 0.97, "Latin": 0.03}, "Chinese"),
        ({"Kana": 0.6, "Han": 0.4}, "Japanese"),
        ({"Han": 0.6, "Kana": 0.4}, "Japanese"),
        ({"Georgian": 1.0}, "a language in Georgian letters"),
    ],
)
def test_language(scripts, language):
    assert guess_language(scripts) == language
