"""The tokenizers of the published models, each made once for all tests."""

import functools

from keras_albert.tokenizers import AlbertTokenizer
from keras_albert.tokenizers import AlbertWordPieceTokenizer


@functools.cache
def english_tokenizer(data):
    """The English one; `data` is the folder of the real text."""
    name = "tokenizers/albert_en_30k-clean.rebuilt.model"
    return AlbertTokenizer(data / name)


@functools.cache
def chinese_tokenizer(data):
    """The Chinese one; `data` is the folder of the real text."""
    return AlbertWordPieceTokenizer(data / "tokenizers/bert_zh_vocab.txt")
