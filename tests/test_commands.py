"""The commands of the README one after the other, each on the last's files."""

import json

import pytest
from typer.testing import CliRunner

from keras_albert.cli.main import app

CONFIG = """
# Smaller than anything useful.
num_layers: 2
num_heads: 2
embedding_dim: 5
hidden_dim: 14
intermediate_dim: 23
max_sequence_length: 32
"""


def run(*arguments):
    """Output of a command that must succeed."""
    result = CliRunner(env={"COLUMNS": "100"}).invoke(
        app, [str(argument) for argument in arguments]
    )
    assert result.exit_code == 0, result.output + result.stderr
    return result.stdout


@pytest.fixture
def folder(tmp_path):
    """A folder with a corpus, a configuration and labelled texts."""
    documents = [
        f"Day {i} began with {word}.\nThe {word} went on.\nNight came."
        for i in range(30)
        for word in ("rain", "sunshine")
    ]
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents))
    (tmp_path / "config.yaml").write_text(CONFIG)
    rows = [f"wet\tThe rain, day {i}" for i in range(20)]
    rows += [f"dry\tThe sunshine, day {i}" for i in range(20)]
    (tmp_path / "train.tsv").write_text("\n".join(["label\ttext", *rows]))
    return tmp_path


@pytest.mark.slow
def test_from_text_to_answers(folder):
    corpus, vocabulary = folder / "corpus.txt", folder / "spiece.model"
    run(
        *("train-tokenizer", "--corpus", corpus, "--vocabulary-size", 50),
        *("--output", vocabulary),
    )

    text = run(
        *("pretrain", "--corpus", corpus, "--tokenizer", vocabulary),
        *("--config", folder / "config.yaml", "--steps", 4),
        *("--batch-size", 3, "--sequence-length", 16),
        *("--output", folder / "pretrained"),
    )
    assert "token frequency" in text
    assert (folder / "pretrained" / "curves.png").is_file()

    text = run(
        *("finetune", "--model", folder / "pretrained"),
        *("--train", folder / "train.tsv", "--epochs", 1),
        *("--sequence-length", 16, "--output", folder / "classifier"),
    )
    assert "commonest class" in text

    run("export", folder / "classifier", "--output", folder / "served")

    questions = ("The rain", "sunshine everywhere", "")
    answers = [
        [
            json.loads(line)
            for line in run(
                *("predict", folder / path, *questions, "--json")
            ).splitlines()
        ]
        for path in ("classifier", "served/1")
    ]
    python, served = answers
    assert [row["text"] for row in python] == list(questions)
    assert [r["label"] for r in python] == [r["label"] for r in served]
    for ours, theirs in zip(python, served, strict=True):
        assert ours["probabilities"] == pytest.approx(
            theirs["probabilities"], abs=1e-5
        )
        assert sum(ours["probabilities"]) == pytest.approx(1, abs=1e-5)
