import dataclasses

import pytest

from keras_albert.cli.prepare import warnings_of
from keras_albert.data import read_manifest
from keras_albert.data.shards import Totals
from tests.data.small_corpora import digests
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_corpus
from tests.data.small_corpora import write_vocabulary


@pytest.fixture
def arguments(tmp_path):
    return [
        *("prepare", "--corpus", write_corpus(tmp_path / "corpus.txt")),
        *("--tokenizer", write_vocabulary(tmp_path / "vocab.txt")),
        *("--output", tmp_path / "out", "--workers", 0),
    ]


def cells(text):
    """The table's rows as a dict."""
    rows = [line.rsplit(maxsplit=1) for line in text.splitlines()]
    return {row[0].strip(): row[1] for row in rows if len(row) == 2}


def test_prepares_and_says_what_there_is(run_command, arguments, tmp_path):
    result = run_command(*arguments, "--sequence-length", 64)

    assert result.exit_code == 0, result.output + result.stderr
    manifest = read_manifest(tmp_path / "out")
    assert manifest.sequence_length == 64
    found = cells(result.stdout)
    assert found["documents"] == "60"
    assert found["tokens"] == f"{manifest.totals.tokens:,}"
    assert found["examples"] == f"{manifest.num_examples:,}"
    assert found["bytes lost"] == "0"
    assert found["bytes read"] == f"{len(''.join(documents())):,}"
    assert "unknown tokens" in result.stdout
    assert "tokenizing" in result.stderr


def test_a_second_time_there_is_nothing_to_do(run_command, arguments, tmp_path):
    run_command(*arguments)

    result = run_command(*arguments)

    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "is complete already; nothing was done" in text


def test_other_settings_are_refused_in_one_line(run_command, arguments):
    run_command(*arguments)

    result = run_command(*arguments, "--seed", 5)

    assert result.exit_code == 1
    assert "seed was 0, is 5" in result.stderr
    assert "Traceback" not in result.stderr
    result = run_command(*arguments, "--seed", 5, "--overwrite")
    assert result.exit_code == 0


def test_options_reach_the_library(run_command, arguments, replace):
    recorder = replace(
        "keras_albert.data", "prepare_corpus", ValueError("enough")
    )

    result = run_command(
        *arguments[:2],
        *("a.txt", "b.txt", "--tokenizer", "v.txt", "--output", "o"),
        *("--sequence-length", 128, "--short-sequence-probability", 0.2),
        *("--workers", 3, "--num-shards", 7, "--word-segmenter", "jieba"),
        *("--text-field", "body", "--allow-single-sentences"),
        *("--overwrite", "--seed", 9),
    )

    assert result.exit_code == 1
    corpus, tokenizer, output = recorder.arguments
    assert corpus == ["a.txt", "b.txt"]
    assert (str(tokenizer), output) == ("v.txt", "o")
    recorder.options.pop("progress")
    assert recorder.options == {
        "sequence_length": 128,
        "short_sequence_probability": 0.2,
        "workers": 3,
        "num_shards": 7,
        "word_segmenter": "jieba",
        "text_field": "body",
        "allow_single_sentences": True,
        "overwrite": True,
        "seed": 9,
    }


def test_options_after_two_dashes_are_beams(run_command, arguments, tmp_path):
    pytest.importorskip("apache_beam", reason="needs the extra `beam`")
    beam = [*arguments[:-4], "--output", tmp_path / "beam", "--runner", "beam"]

    result = run_command(*beam, "--", "--runner=DirectRunner")
    run_command(*arguments)

    assert result.exit_code == 0, result.output + result.stderr
    assert "bytes lost" in result.stdout
    assert digests(tmp_path / "beam") == digests(tmp_path / "out")
    result = run_command(*beam, "--overwrite", "--", "--runner=NoSuchRunner")
    assert result.exit_code == 1
    assert "NoSuchRunner" in result.stderr
    assert "Traceback" not in result.stderr


def test_beam_that_is_missing_says_how_to_get_it(
    run_command, arguments, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    result = run_command(*arguments[:-2], "--runner", "beam")

    assert result.exit_code == 1
    assert 'pip install "keras-albert[beam]"' in result.stderr


@pytest.mark.parametrize(
    "more, message",
    [
        (["--", "--runner=DirectRunner"], "Unexpected: --runner=DirectRunner"),
        (["--runner", "beam"], "--workers is for the local runner"),
        (["--wrong"], "No such option"),
    ],
)
def test_options_that_do_not_belong_are_refused(
    run_command, arguments, more, message
):
    result = run_command(*arguments, *more)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


GOOD = Totals(documents=100, tokens=1000)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"cut_documents": 2}, "2 documents of more than 1 MiB"),
        ({"one_sentence_documents": 60}, "60.0 % of the documents"),
        ({"unknown_tokens": 30}, "3.0 % of the tokens are unknown"),
    ],
)
def test_what_deserves_a_look_is_said(changes, message):
    assert list(warnings_of(GOOD)) == []
    (warning,) = warnings_of(dataclasses.replace(GOOD, **changes))
    assert message in warning
