"""Files for Hugging Face's library, read by that library."""

import json

import pytest

from keras_albert.conversion.tokenizer_json_content import unigram_json
from keras_albert.conversion.tokenizer_json_content import word_piece_json
from keras_albert.tokenizers import AlbertTokenizer
from keras_albert.tokenizers import AlbertWordPieceTokenizer
from tests.tokenizers.conftest import tiny_proto  # noqa: F401
from tests.tokenizers.conftest import tiny_vocabulary  # noqa: F401

tokenizers = pytest.importorskip("tokenizers", reason="the other side")

TEXTS = ["The cat sat.", "``The'' cat", "HÉLLO  the", "中文 the cat", "92,000"]


def their_ids(content, texts):
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    rows = theirs.encode_batch(texts, add_special_tokens=False)
    return [row.ids for row in rows]


@pytest.mark.parametrize(
    "options",
    [{}, {"unify_quotes": True}, {"lowercase": False, "strip_accents": False}],
)
def test_sentence_piece_gives_the_same_ids_there(tiny_proto, options):  # noqa: F811
    ours = AlbertTokenizer(tiny_proto, **options)

    assert their_ids(unigram_json(ours), TEXTS) == ours.encode_batch(TEXTS)


@pytest.mark.parametrize("options", [{}, {"lowercase": False}])
def test_word_piece_gives_the_same_ids_there(tiny_vocabulary, options):  # noqa: F811
    ours = AlbertWordPieceTokenizer(tiny_vocabulary, **options)

    assert their_ids(word_piece_json(ours), TEXTS) == ours.encode_batch(TEXTS)
