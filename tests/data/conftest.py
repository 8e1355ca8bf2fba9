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


def write_prepared(
    folder, corpus, tokenizer, *, sequence_length, num_shards=4, seed=5
):
    """Writes a corpus as prepared data; the tokenizer is not stored."""
    from keras_albert.data import shard_writing
    from keras_albert.data import shards
    from keras_albert.data import tokenized_documents

    texts = [
        corpus.token_ids[slice(*corpus.sentence_offsets[[start, stop]])]
        for start, stop in zip(
            corpus.document_offsets, corpus.document_offsets[1:], strict=False
        )
    ]
    documents = tokenized_documents.TokenizedDocuments(
        identities=np.array(
            [tokenized_documents.identity_of(str(t.tolist())) for t in texts]
        ),
        document_offsets=corpus.document_offsets,
        sentence_offsets=corpus.sentence_offsets,
        pieces=(2 * corpus.token_ids + corpus.word_starts).astype("uint32"),
    )
    settings = shard_writing.ChunkSettings(sequence_length, 0.1, seed)
    shard = tokenized_documents.shards_of(documents.identities, num_shards)
    folder.mkdir(exist_ok=True)
    infos, contents = [], []
    for index in range(num_shards):
        path = folder / shards.shard_name(index, num_shards)
        with path.open("wb") as file:
            content = shard_writing.write_shard(
                file,
                documents.take(np.flatnonzero(shard == index)),
                settings,
                tokenizer.vocabulary_size(),
            )
        contents.append(content)
        infos.append(
            shards.ShardInfo(
                path.name,
                content.num_examples,
                content.num_tokens,
                content.sha256,
            )
        )
    special = {
        name: getattr(tokenizer, f"{name}_token_id")
        for name in ("pad", "unk", "cls", "sep", "mask")
    }
    shards.write_manifest(
        folder,
        shards.Manifest(
            sequence_length=sequence_length,
            short_sequence_probability=0.1,
            seed=seed,
            max_chunk_tokens=max(c.max_chunk_tokens for c in contents),
            max_chunk_sentences=max(c.max_chunk_sentences for c in contents),
            vocabulary_size=tokenizer.vocabulary_size(),
            tokenizer="tokenizer",
            tokenizer_fingerprint=tokenizer.fingerprint(),
            special_token_ids=special,
            word_segmenter=None,
            totals=shards.Totals(
                documents=corpus.num_documents,
                sentences=corpus.num_sentences,
                tokens=corpus.num_tokens,
            ),
            shards=tuple(infos),
        ),
    )
    return folder


PREPARED_LENGTH = 40


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, toy_corpus, toy_tokenizer):
    """The toy corpus as prepared data in five shards."""
    return write_prepared(
        tmp_path_factory.mktemp("prepared"),
        toy_corpus,
        toy_tokenizer,
        sequence_length=PREPARED_LENGTH,
        num_shards=5,
    )


def flat(batch):
    """One dict of a batch's arrays."""
    inputs, targets, weights = batch
    named = {f"weight/{name}": value for name, value in weights.items()}
    return {**inputs, **targets, **named}


def take(dataset, number):
    """The first batches, each as one dict of arrays."""
    return [flat(batch) for batch in dataset.take(number).as_numpy_iterator()]


def rows_of(batches):
    """Every example as bytes, for comparing and counting."""
    return [
        b"".join(
            np.ascontiguousarray(value[i]).tobytes() for value in b.values()
        )
        for b in batches
        for i in range(len(b["token_ids"]))
    ]


def digest(batches):
    return b"".join(rows_of(batches))
