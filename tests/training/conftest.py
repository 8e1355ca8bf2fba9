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


@pytest.fixture(scope="session")
def prepared_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture(scope="session")
def prepare(prepared_folder, tokenizer):
    def make(
        name, sequence_length=16, num_shards=4, count=24, tokenizer=tokenizer
    ):
        path = prepared_folder / name
        if not path.exists():
            text = prepared_folder / f"{name}.txt"
            text.write_text(
                "\n\n".join(
                    "\n".join(
                        " ".join(LETTERS[(start + shift) % 8 :]) + " ."
                        for shift in range(3)
                    )
                    + f"\n{' '.join(LETTERS[: 1 + start % 8])}" * (start // 8)
                    for start in range(24)
                )
            )
            from keras_albert.data.preparation import prepare_corpus

            prepare_corpus(
                text,
                tokenizer,
                path,
                sequence_length=sequence_length,
                num_shards=num_shards,
                workers=0,
            )
        return path

    return make
