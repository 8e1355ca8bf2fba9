"""`keras-albert inspect-corpus`: what it prints, and its exit code."""

import json

import pytest

from keras_albert.cli.inspect_corpus import bar


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "a.txt"
    lines = [f"Number {i} came. Number {i + 1} left." for i in range(200)]
    path.write_text("\n\n".join("\n".join(lines[i::20]) for i in range(20)))
    return path


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "number"]
    pieces += ["came", "left", *map(str, range(201))]
    path.write_text("\n".join(pieces))
    return path


def test_report_on_a_good_corpus(run_command, corpus, vocabulary, tmp_path):
    picture = tmp_path / "a.png"

    result = run_command(
        "inspect-corpus", corpus, "--tokenizer", vocabulary, "--plot", picture
    )

    assert result.exit_code == 0, result.output
    words = result.stdout.split()
    for name, value in (
        ("documents", "20"),
        ("sentences", "400"),
        ("tokens", "1,600"),
        ("Latin", "100.0"),
    ):
        assert words[words.index(name) + 1] == value
    assert "17–32 ████████████████████████████████████ 20" in result.stdout
    assert "✓ Fit for pretraining" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_several_files_and_a_sample(run_command, corpus, tmp_path):
    second = tmp_path / "b.txt"
    second.write_text("Another text. It is short.\n")

    result = run_command("inspect-corpus", corpus, second, "--sample", 0.5)

    assert result.exit_code == 0, result.output
    assert "about" in result.stdout
    assert "21" in result.stdout.split()


def test_json(run_command, corpus):
    result = run_command("inspect-corpus", corpus, "--json")

    content = json.loads(result.stdout)
    assert content["num_documents"] == 20
    assert content["problems"] == []
    assert "characters are little" in content["advice"][0]


def test_exit_code_of_a_useless_corpus(run_command, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join(f"Sentence number {i}." for i in range(200)))

    result = run_command("inspect-corpus", path)
    as_json = run_command("inspect-corpus", path, "--json")

    assert result.exit_code == as_json.exit_code == 1
    assert "✗ 100.0 % of the documents have one sentence" in result.stdout
    assert "Fit for" not in result.stdout
    assert len(json.loads(as_json.stdout)["problems"]) == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["missing.txt"], "missing.txt does not exist"),
        (["a.txt", "--plot", "a.doc"], "must end in .png"),
        (["a.txt", "--sample", "2"], "`sample` must be a share"),
        (["a.txt", "--tokenizer", "no.model"], "There is no tokenizer"),
    ],
)
def test_wrong_arguments(run_command, corpus, monkeypatch, arguments, message):
    monkeypatch.chdir(corpus.parent)

    result = run_command("inspect-corpus", *arguments)

    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_bar():
    assert bar(0) == ""
    assert bar(1) == "█" * 36
    assert bar(0.5) == "█" * 18
    assert bar(0.51) == "█" * 18 + "▍"
    assert bar(1e-9) == "▏"
