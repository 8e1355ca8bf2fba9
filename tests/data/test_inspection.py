"""Reports on small files, counted by hand, and on the real corpora."""

import gzip
import json
import tracemalloc

import pytest

from keras_albert.data.inspection import inspect_corpus
from keras_albert.data.inspection_advice import corpus_advice
from keras_albert.data.inspection_advice import corpus_problems
from keras_albert.data.inspection_advice import guess_language
from keras_albert.tokenizers import load_encoder


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_counts_by_hand(write, toy_tokenizer):
    path = write("Title\nOne two. Three @.\n\nFour.\n\nFour.\n\nÉ жж <b>\n")

    report = inspect_corpus(path, toy_tokenizer)

    assert report.num_documents == report.num_measured_documents == 4
    assert report.num_lines == report.num_measured_lines == 5
    assert report.num_characters == 5 + 17 + 5 + 5 + 8
    assert report.num_words == 1 + 4 + 1 + 1 + 3
    assert report.num_one_sentence_documents == 3
    assert report.sentences_per_document.bins() == [
        (1, 1, 3), (2, 2, 0), (3, 4, 1)
    ]  # fmt: skip
    assert report.characters_per_sentence.count == 6
    assert report.documents.share == report.lines.share * 5 / 4 == 1 / 4
    assert list(report.scripts) == ["Latin", "Cyrillic"]
    assert report.scripts["Cyrillic"] == pytest.approx(2 / 28)
    assert report.signs["html_tags"] == 1
    assert sum(report.signs.values()) == 1


def test_tokens_by_hand(write, toy_tokenizer):
    # Pieces of two letters, "@" is unknown; no document spans two examples.
    sentence = "Abcdef gh. "
    path = write(f"{sentence * 60}\n\n@ @\n")

    tokens = inspect_corpus(path, toy_tokenizer).tokens

    num_tokens = 60 * (3 + 2) + 2
    assert tokens.num_tokens == num_tokens
    assert tokens.num_unknown == 2
    assert tokens.tokens_per_sentence.count == 61
    # 125 tokens are 25 sentences: 25 + 25 + 10, and the second document.
    assert tokens.num_examples == {128: 4, 512: 2}


def test_examples_do_not_depend_on_batches(write, toy_tokenizer, monkeypatch):
    text = "\n\n".join("Abc de. " * n for n in range(1, 80))
    path = write(text)
    expected = inspect_corpus(path, toy_tokenizer).to_dict()
    monkeypatch.setattr("keras_albert.data.inspection._SENTENCES_PER_BATCH", 7)

    assert inspect_corpus(path, toy_tokenizer).to_dict() == expected


def test_sample_is_even_and_estimates_the_whole(write):
    path = write("\n\n".join(f"One {i}. Two. Three." for i in range(4000)))

    report = inspect_corpus(path, sample=0.25)

    assert report.num_documents == 4000
    assert report.num_measured_documents == pytest.approx(1000, abs=2)
    assert report.is_sample
    sentences = report.whole(report.characters_per_sentence.count)
    assert sentences == pytest.approx(12_000, rel=0.01)
    assert report.lines.count == 4000


def test_files_with_faults_are_read_on(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Good. Text.\n\xff\n")
    packed = gzip.compress(b"More. Text.\n" * 1000)
    (tmp_path / "b.txt.gz").write_bytes(packed[:-9])
    (tmp_path / "c.txt").write_bytes(b"")
    steps = []

    report = inspect_corpus(tmp_path / "*.*", progress=steps.append)

    assert [scan.num_undecodable for scan in report.files] == [1, 0, 0]
    assert [bool(scan.damage) for scan in report.files] == [False, True, False]
    assert report.num_lines > 500
    assert sum(steps) == sum(scan.stored_bytes for scan in report.files)


def test_report_becomes_json(write, toy_tokenizer):
    path = write("One. Two.\n\nThree.\n")

    content = inspect_corpus(path, toy_tokenizer).to_dict()

    assert json.loads(json.dumps(content))["num_documents"] == 2
    assert content["sentences_per_document"]["bins"] == [[1, 1, 1], [2, 2, 1]]
    assert content["tokens"]["num_examples"] == {128: 2, 512: 2}


@pytest.mark.parametrize("sample", [0, -1, 1.5])
def test_sample_out_of_range(write, sample):
    with pytest.raises(ValueError, match="`sample` must be a share"):
        inspect_corpus(write("One."), sample=sample)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        inspect_corpus(tmp_path / "missing.txt")
    with pytest.raises(ValueError, match="is a folder"):
        inspect_corpus(tmp_path)


def test_memory_does_not_grow_with_the_corpus(write, monkeypatch):
    monkeypatch.setattr(
        "keras_albert.data.corpus_measures.RepeatCounter.__init__.__defaults__",
        (1000,),
    )

    def peak(count):
        path = write("\n".join(f"Line {i} is one. Yes." for i in range(count)))
        tracemalloc.start()
        inspect_corpus(path)
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)
    assert peak(40_000) < 1.2 * peak(4_000)


def test_real_corpora(shared_data):
    models = shared_data / "tokenizers"
    english = inspect_corpus(
        shared_data / "en_wikipedia" / "valid.txt.gz",
        load_encoder(models / "albert_en_30k-clean.rebuilt.model"),
    )
    chinese = inspect_corpus(
        shared_data / "zh_wikipedia" / "valid.txt.gz",
        load_encoder(models / "bert_zh_vocab.txt"),
    )

    assert corpus_problems(english) == corpus_problems(chinese) == []
    assert guess_language(english.scripts).startswith("English")
    assert guess_language(chinese.scripts) == "Chinese"
    assert english.tokens.num_unknown < 0.01 * english.tokens.num_tokens
    advice = " ".join(corpus_advice(chinese))
    assert "Han is written without spaces" in advice
    with gzip.open(shared_data / "en_wikipedia" / "valid.txt.gz", "rt") as file:
        text = file.read()
    assert english.num_documents == len(text.strip().split("\n\n"))
