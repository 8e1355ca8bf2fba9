import dataclasses

import numpy as np
import pytest

from keras_albert.data.tokenized_corpus import TokenizedCorpus
from keras_albert.data.tokenized_corpus import tokenize_corpus
from tests.data.conftest import toy_documents

SMALL = [["abc d. Efg hi. Jk", "l"], "mno\npq rstuv"]


def assert_equal(corpus, other):
    for field in dataclasses.fields(TokenizedCorpus):
        one, two = (getattr(c, field.name) for c in (corpus, other))
        np.testing.assert_array_equal(one, two)
        assert np.asarray(one).dtype == np.asarray(two).dtype


def test_sentences_and_documents_are_ranges(toy_tokenizer):
    corpus = tokenize_corpus(SMALL, toy_tokenizer)

    sentences = ["abc d.", "Efg hi.", "Jk", "l", "mno", "pq rstuv"]
    ids = toy_tokenizer.encode_batch(sentences)
    bounds = zip(
        corpus.sentence_offsets[:-1], corpus.sentence_offsets[1:], strict=True
    )
    assert [corpus.token_ids[a:b].tolist() for a, b in bounds] == ids
    assert corpus.document_offsets.tolist() == [0, 4, 6]


def test_word_starts_are_the_tokenizers(toy_tokenizer):
    corpus = tokenize_corpus([["abc d efghi"]], toy_tokenizer)

    assert corpus.word_starts.tolist() == [1, 0, 1, 1, 0, 0]


def test_the_fingerprint_is_of_ids_words_and_borders(toy_tokenizer, toy_corpus):
    again = tokenize_corpus(iter(toy_documents()), toy_tokenizer)
    changed = [
        dataclasses.replace(
            toy_corpus, **{name: np.append(getattr(toy_corpus, name)[:-1], 1)}
        )
        for name in ("token_ids", "sentence_offsets", "document_offsets")
    ]
    changed.append(
        dataclasses.replace(toy_corpus, word_starts=~toy_corpus.word_starts)
    )
    changed.append(
        dataclasses.replace(toy_corpus, tokenizer_fingerprint="another")
    )

    assert again.fingerprint() == toy_corpus.fingerprint()
    assert len({c.fingerprint() for c in (toy_corpus, *changed)}) == 6


def test_types_are_small_and_fixed(toy_corpus):
    dtypes = {
        field.name: getattr(toy_corpus, field.name).dtype.name
        for field in dataclasses.fields(toy_corpus)[:4]
    }

    assert dtypes == {
        "token_ids": "int32",
        "word_starts": "bool",
        "sentence_offsets": "int64",
        "document_offsets": "int64",
    }


def test_summary_counts_what_to_watch(toy_tokenizer):
    corpus = tokenize_corpus(["ab @", ["cd", "ef @ @"], "gh"], toy_tokenizer)

    summary = corpus.summary

    assert summary.num_documents == 3
    assert summary.num_sentences == 4
    assert summary.num_tokens == 7
    assert summary.num_one_sentence_documents == 2
    assert summary.unknown_rate == pytest.approx(3 / 7)
    assert summary.num_unaligned_sentences == 0


def test_sentences_without_tokens_are_dropped(toy_tokenizer):
    class Dropping(type(toy_tokenizer)):
        def encode_batch(self, texts):
            encoded = super().encode_batch(texts)
            unknown = [self.unk_token_id]
            return [[] if ids == unknown else ids for ids in encoded]

    corpus = tokenize_corpus([["@", "ab"], ["@"], ["cd"]], Dropping())

    assert corpus.document_offsets.tolist() == [0, 1, 2]
    assert corpus.sentence_offsets.tolist() == [0, 1, 2]


def test_batches_do_not_change_the_corpus(toy_tokenizer, monkeypatch):
    whole = tokenize_corpus(toy_documents(), toy_tokenizer)
    module = "keras_albert.data.tokenized_corpus._SENTENCES_PER_BATCH"
    monkeypatch.setattr(module, 7)

    assert_equal(tokenize_corpus(toy_documents(), toy_tokenizer), whole)


def test_documents_are_streamed(toy_tokenizer, monkeypatch):
    module = "keras_albert.data.tokenized_corpus._SENTENCES_PER_BATCH"
    monkeypatch.setattr(module, 5)
    events = []

    def documents():
        for index in range(12):
            events.append(("read", index))
            yield "ab"

    tokenize_corpus(
        documents(),
        toy_tokenizer,
        progress=lambda number: events.append(("done", number)),
    )

    assert events.index(("done", 5)) < events.index(("read", 5))
    assert sum(number for kind, number in events if kind == "done") == 12


@pytest.mark.parametrize("documents", [[], [" ", ["\n"]], iter(())])
def test_a_corpus_without_text_is_an_error(toy_tokenizer, documents):
    with pytest.raises(ValueError, match="no documents with text"):
        tokenize_corpus(documents, toy_tokenizer)


class CharacterTokenizer:
    """One id per character; "#" is unknown."""

    characters = "#▁北京大学很好。,"
    unk_token_id = 0
    word_starts = np.ones(10, "bool")

    def encode_batch(self, texts):
        return [
            [max(0, self.characters.find(c)) for c in f"▁{text}"]
            for text in texts
        ]

    def id_to_token(self, token_id):
        return self.characters[token_id]

    def fingerprint(self):
        return "characters"


def test_a_word_segmenter_makes_whole_words():
    words = {"北京大学很好。": ["北京", "大学", "很", "好", "。"]}

    corpus = tokenize_corpus(
        ["北京大学很好。"], CharacterTokenizer(), word_segmenter=words.get
    )

    assert corpus.word_starts.tolist() == [1, 0, 0, 1, 0, 1, 1, 1]


def test_a_word_segmenter_never_cuts_the_tokenizers_words():
    tokenizer = CharacterTokenizer()
    tokenizer.word_starts = np.array([c != "学" for c in tokenizer.characters])

    corpus = tokenize_corpus(["大学"], tokenizer, word_segmenter=list)

    assert corpus.word_starts.tolist() == [1, 0, 0]


def test_sentences_that_do_not_align_are_counted_and_kept():
    corpus = tokenize_corpus(
        ["北京\n大学"],
        CharacterTokenizer(),
        word_segmenter=lambda text: [text.replace("北京", "南京")],
    )

    assert corpus.word_starts.tolist() == [1, 1, 1, 1, 0, 0]
    assert corpus.summary.num_unaligned_sentences == 1


def test_saving_and_loading_returns_the_same(toy_corpus, tmp_path):
    path = toy_corpus.save(tmp_path / "new" / "corpus.npz")

    assert_equal(TokenizedCorpus.load(path), toy_corpus)
    assert [p.name for p in path.parent.iterdir()] == ["corpus.npz"]


def test_a_failed_save_leaves_the_old_file(toy_corpus, tmp_path, monkeypatch):
    path = toy_corpus.save(tmp_path / "corpus.npz")
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        toy_corpus.save(path)

    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.npz"]


def test_loading_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.npz does not exist"):
        TokenizedCorpus.load(tmp_path / "none.npz")


def test_loading_another_file_says_so(tmp_path):
    np.savez(tmp_path / "other.npz", a=1)
    (tmp_path / "text.npz").write_text("text")
    whole = (tmp_path / "other.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])

    for name in ("other.npz", "text.npz", "half.npz"):
        with pytest.raises(ValueError, match=f"{name} is not a tokenized"):
            TokenizedCorpus.load(tmp_path / name)
