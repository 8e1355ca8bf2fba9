import pytest

from keras_albert import tokenizers


@pytest.fixture
def corpus(tmp_path):
    text = "\n".join(
        f"Line {i} of the {'first' if i < 50 else 'second'} part, number {i}."
        for i in range(100)
    )
    path = tmp_path / "corpus.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_writes_a_vocabulary_that_loads(run_command, corpus, tmp_path):
    output = tmp_path / "spiece.model"

    result = run_command(
        "train-tokenizer",
        *("--corpus", corpus, "--vocabulary-size", 50, "--output", output),
    )

    assert result.exit_code == 0, result.output
    assert "50 pieces from 100 of 100 lines" in result.output.replace("\n", "")
    tokenizer = tokenizers.load_tokenizer(output)
    assert tokenizer.vocabulary_size() == 50


def test_small_corpus_is_said(run_command, corpus, tmp_path):
    result = run_command(
        "train-tokenizer",
        *("--corpus", corpus, "--output", tmp_path / "spiece.model"),
    )

    assert result.exit_code == 0, result.output
    assert "too small for 30,000 pieces" in result.output


def test_options_reach_the_library(run_command, corpus, monkeypatch):
    seen = {}

    def train(texts, vocabulary_size, output, **options):
        seen.update(options, size=vocabulary_size, lines=list(texts))
        raise ValueError("enough")

    monkeypatch.setattr(tokenizers, "train_tokenizer", train)
    result = run_command(
        *("train-tokenizer", "--corpus", corpus, corpus, "--seed", 5),
        *("--no-lowercase", "--character-coverage", 0.99),
    )

    assert result.exit_code == 1
    assert len(seen.pop("lines")) == 100
    assert seen == {
        "size": 30000,
        "seed": 5,
        "max_sentences": 1_000_000,
        "character_coverage": 0.99,
        "lowercase": False,
        "strip_accents": True,
    }


def test_missing_file_is_one_line(run_command, tmp_path):
    result = run_command("train-tokenizer", "--corpus", tmp_path / "none.txt")

    assert result.exit_code == 1
    assert "none.txt does not exist" in result.stderr
    assert result.stderr.count("\n") == 1
