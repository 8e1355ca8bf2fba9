"""A corpus that a tiny model learns in seconds, and its vocabulary."""

import pytest

LETTERS = "abcdefgh"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="session")
def tokenizer():
    from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

    return AlbertWordPieceTokenizer(vocabulary=[*SPECIAL, *LETTERS])


@pytest.fixture(scope="session")
def documents():
    """The alphabet in turns: each letter follows from its neighbour."""
    line = " ".join(LETTERS)
    return [[line[2 * i :] + " " + line] * 3 for i in range(4)] * 5


@pytest.fixture(scope="session")
def tiny_config():
    return {
        "num_layers": 2,
        "num_heads": 2,
        "embedding_dim": 8,
        "hidden_dim": 16,
        "intermediate_dim": 24,
        "max_sequence_length": 32,
    }
