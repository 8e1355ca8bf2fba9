import subprocess
import sys

import numpy as np
import pytest

from keras_albert.data import document_tokenizing
from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.document_tokenizing import check_word_segmenter
from keras_albert.data.document_tokenizing import lost_bytes
from keras_albert.data.tokenized_corpus import tokenize_corpus
from keras_albert.data.tokenized_documents import identity_of
from keras_albert.tokenizers.encoders import load_encoder
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_vocabulary


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return write_vocabulary(tmp_path_factory.mktemp("v") / "vocab.txt")


@pytest.fixture(scope="module")
def encoder(vocabulary):
    return load_encoder(vocabulary)


def jieba_like(sentence):
    """Words of two characters."""
    return [sentence[i : i + 2] for i in range(0, len(sentence), 2)]


@pytest.mark.parametrize("segmenter", [None, "jieba"])
def test_documents_become_what_the_tokenizer_makes_of_them(
    vocabulary, encoder, segmenter, monkeypatch
):
    monkeypatch.setattr(
        document_tokenizing, "load_word_segmenter", lambda name: jieba_like
    )
    texts = [*documents(20), "北京大学好人。人好。\n北京 the 大学。"]
    expected = tokenize_corpus(
        texts,
        AlbertWordPieceTokenizer(str(vocabulary)),
        jieba_like if segmenter else None,
    )

    found, totals = DocumentTokenizer(encoder, segmenter).tokenize(texts)

    assert (found.token_ids == expected.token_ids).all()
    assert (found.word_starts == expected.word_starts).all()
    assert (found.sentence_offsets == expected.sentence_offsets).all()
    assert (found.document_offsets == expected.document_offsets).all()
    assert found.identities.tolist() == [identity_of(text) for text in texts]
    summary = expected.summary
    assert totals.documents == summary.num_documents == 21
    assert totals.sentences == summary.num_sentences
    assert totals.tokens == summary.num_tokens
    assert totals.unknown_tokens == expected.num_unknown_tokens
    assert totals.one_sentence_documents == summary.num_one_sentence_documents
    assert totals.unaligned_sentences == summary.num_unaligned_sentences
    assert totals.bytes_read == len("".join(texts).encode())


def test_text_is_counted_in_steps_as_at_once(encoder, monkeypatch):
    texts = documents(30)
    expected, totals = DocumentTokenizer(encoder).tokenize(texts)
    monkeypatch.setattr(document_tokenizing, "_CHARACTERS_PER_STEP", 700)

    found, again = DocumentTokenizer(encoder).tokenize(texts)

    assert again == totals
    for name, array in vars(expected).items():
        assert (getattr(found, name) == array).all()


def test_what_gives_no_token_is_counted_and_left_out(encoder):
    texts = ["\x01\x02", "One. \x03\x04\nTwo é ☃.", "\x05"]

    found, totals = DocumentTokenizer(encoder).tokenize(texts)

    assert found.num_documents == totals.documents == 1
    assert found.identities.tolist() == [identity_of(texts[1])]
    assert totals.sentences_without_tokens == 3
    assert totals.bytes_lost == 0
    assert totals.unknown_tokens == 1
    assert totals.bytes_read == len("".join(texts).encode())


def test_no_token_at_all(encoder):
    found, totals = DocumentTokenizer(encoder).tokenize(["\x01"])

    assert (found.num_documents, found.num_tokens) == (0, 0)
    assert totals.documents == 0


@pytest.mark.parametrize(
    "line, sentences, expected",
    [
        ("One. Two.", ["One.", "Two."], 0),
        ("  One. \t ", ["One."], 0),
        ("One. Two. Three.", ["One.", "Three."], 4),
        ("One. 好了。", ["One."], 9),
        ("One. Two.", [], 8),
        ("One. Two.", ["One.", "two."], 4),
        ("ab ab", ["ab", "ab"], 0),
        ("ab ab", ["ab"], 2),
    ],
)
def test_lost_text_is_counted(line, sentences, expected):
    assert lost_bytes(line, sentences) == expected


def test_losses_of_the_splitter_would_be_seen(encoder, monkeypatch):
    monkeypatch.setattr(
        document_tokenizing, "split_sentences", lambda line: [line[:4]]
    )

    _, totals = DocumentTokenizer(encoder).tokenize(["One. Two. 好"])

    assert totals.bytes_lost == 4 + 3


def test_the_table_of_pieces_is_used_where_ids_are_large(tmp_path):
    path = write_vocabulary(tmp_path / "vocab.txt")
    with path.open("a") as file:
        file.writelines(f"zz{i}\n" for i in range(40000))
    encoder = load_encoder(path)

    found, _ = DocumentTokenizer(encoder).tokenize(["zz39999 the."])

    assert found.pieces.dtype == np.uint32
    assert found.token_ids[0] == encoder.vocabulary_size() - 1


def test_unknown_segmenters_are_refused():
    check_word_segmenter("jieba")
    with pytest.raises(ValueError, match="one of jieba.*'thulac'"):
        check_word_segmenter("thulac")


def test_a_missing_segmenter_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ImportError, match="pip install jieba"):
        check_word_segmenter("jieba")


def test_workers_start_without_keras_and_tensorflow():
    code = (
        "import sys, keras_albert.data.prepare_workers; "
        "print({'keras', 'keras_hub', 'tensorflow'} & set(sys.modules))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert output.stdout.strip() == "set()"
