"""A toy tokenizer with a vocabulary in an unusual order, and a toy corpus."""

import zlib

import numpy as np
import pytest

from keras_albert.data.tokenized_corpus import tokenize_corpus


class ToyTokenizer:
    """Pieces of two letters; `[PAD]` is not 0, special ids lie apart."""

    cls_token_id, mask_token_id, pad_token_id, sep_token_id = 3, 11, 7, 96
    unk_token_id = 50
    special_token_ids = np.array([3, 7, 11, 50, 96], "int32")
    size = 101
    first_ids = range(12, 50)  # pieces that start a word
    other_ids = range(51, 96)  # pieces that continue one

    def __init__(self):
        self.replacement_ids = np.array(
            [*self.first_ids, *self.other_ids], "int32"
        )
        self.word_starts = np.zeros(self.size, "bool")
        self.word_starts[list(self.first_ids)] = True

    def vocabulary_size(self):
        return self.size

    def fingerprint(self):
        return "toy"

    def encode_batch(self, texts):
        return [
            [i for word in text.split() for i in self._encode_word(word)]
            for text in texts
        ]

    def _encode_word(self, word):
        if word == "@":
            return [self.unk_token_id]
        pieces = [word[i : i + 2] for i in range(0, len(word), 2)]
        ids = [self.first_ids] + [self.other_ids] * (len(pieces) - 1)
        return [
            allowed[zlib.crc32(piece.encode()) % len(allowed)]
            for allowed, piece in zip(ids, pieces, strict=True)
        ]

    def id_to_token(self, token_id):
        return f"p{token_id}"

    def detokenize(self, ids):
        return " ".join(self.id_to_token(i) for i in ids)


def toy_documents(num_documents=40, seed=0):
    """Documents of random words of 1 to 7 letters, one sentence a line."""
    random = np.random.default_rng(seed)

    def sentence(length):
        words = [
            "".join(random.choice(list("abcdefgh"), random.integers(1, 8)))
            for _ in range(length)
        ]
        return " ".join(words)

    return [
        [sentence(random.integers(1, 30)) for _ in range(num_sentences)]
        for num_sentences in random.integers(1, 25, num_documents)
    ]


@pytest.fixture(scope="session")
def toy_tokenizer():
    return ToyTokenizer()


@pytest.fixture(scope="session")
def toy_corpus(toy_tokenizer):
    return tokenize_corpus(toy_documents(), toy_tokenizer)
