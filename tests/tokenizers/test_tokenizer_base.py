"""What both tokenizers share: agreement of the two paths, and identity."""

import pytest

from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from tests.tokenizers.conftest import hostile_texts


@pytest.fixture(params=["sentence_piece", "word_piece"])
def make(request, tiny_proto, tiny_vocabulary):
    if request.param == "sentence_piece":
        return lambda **options: AlbertTokenizer(tiny_proto, **options)
    return lambda **options: AlbertWordPieceTokenizer(
        tiny_vocabulary, **options
    )


@pytest.mark.parametrize("special_tokens_in_strings", [False, True])
@pytest.mark.parametrize("lowercase", [False, True])
def test_both_paths_agree(make, special_tokens_in_strings, lowercase):
    tokenizer = make(
        lowercase=lowercase,
        special_tokens_in_strings=special_tokens_in_strings,
    )
    texts = [*hostile_texts(2000, seed=11), "a [MASK] [CLS]b", "\ud800"]
    encodable = [t.encode("utf-8", "surrogatepass") for t in texts[:-1]]

    python = tokenizer.encode_batch(texts[:-1])

    assert tokenizer.tokenize_graph(encodable).to_list() == python
    assert tokenizer.encode_batch(encodable) == python
    assert tokenizer.encode_batch(texts[-1:]) == tokenizer(["\ufffd"])
    found = {i for row in python for i in row}
    assert (tokenizer.mask_token_id in found) == special_tokens_in_strings


def test_special_and_replacement_ids_part_the_vocabulary(make):
    tokenizer = make()

    special = set(tokenizer.special_token_ids.tolist())
    replacement = set(tokenizer.replacement_ids.tolist())

    assert special.isdisjoint(replacement)
    assert special | replacement == set(range(tokenizer.vocabulary_size()))
    assert tokenizer.replacement_ids.dtype == "int32"


def test_fingerprint_ignores_what_does_not_change_ids(make):
    tokenizer = make()

    assert make(sequence_length=5).fingerprint() == tokenizer.fingerprint()
    assert make(name="other").fingerprint() == tokenizer.fingerprint()


def test_fingerprint_depends_on_the_vocabulary(tiny_vocabulary):
    one = AlbertWordPieceTokenizer(tiny_vocabulary)
    other = AlbertWordPieceTokenizer([*tiny_vocabulary, "more"])

    assert one.fingerprint() != other.fingerprint()
    assert len(one.fingerprint()) == 64


def test_empty_batch(make):
    tokenizer = make(special_tokens_in_strings=True)

    assert tokenizer.encode_batch([]) == []
    assert tokenizer([]) == []


def test_same_id_for_two_special_tokens(tiny_proto, monkeypatch):
    monkeypatch.setattr(AlbertTokenizer, "token_to_id", lambda self, token: 2)

    with pytest.raises(ValueError, match="must have different ids"):
        AlbertTokenizer(tiny_proto)
