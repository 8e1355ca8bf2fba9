"""From the documents of a shard to its TFRecord file.

    documents in any order -> sorted by identity -> chunks -> records -> file

The bytes depend on the set of documents and the settings alone.
"""

import dataclasses
import hashlib
from collections.abc import Iterator

import numpy as np

from keras_albert.data import records
from keras_albert.data.chunks import NUM_SPECIAL_TOKENS
from keras_albert.data.chunks import chunk_targets
from keras_albert.data.chunks import cut_chunks
from keras_albert.data.chunks import cut_long_sentences
from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import offsets_of

# Records whose arrays are made at once.
_RECORDS_PER_STEP = 1024
_TOKENS_PER_STEP = 1 << 18


@dataclasses.dataclass(frozen=True)
class ChunkSettings:
    """What decides how documents are cut into chunks."""

    sequence_length: int
    short_sequence_probability: float
    seed: int

    @property
    def max_tokens(self) -> int:
        """Tokens of text in a full example."""
        return self.sequence_length - NUM_SPECIAL_TOKENS


@dataclasses.dataclass(frozen=True, eq=False)
class ShardContent:
    """What was written into a shard."""

    num_examples: int
    num_tokens: int
    num_split_sentences: int
    max_chunk_tokens: int
    max_chunk_sentences: int
    token_counts: np.ndarray
    sha256: str


def write_shard(
    file,
    documents: TokenizedDocuments,
    settings: ChunkSettings,
    vocabulary_size: int,
) -> ShardContent:
    """Writes the records of a shard.

    Args:
        file: binary file, open for writing.
        documents: `TokenizedDocuments`, all that belong to the shard, sorted
            by `by_identity`. (Not sorted here: the caller would still hold
            the unsorted ones.)
        settings: `ChunkSettings`.
        vocabulary_size: int.

    Returns:
        `ShardContent`.
    """
    units, chunks = _cut(documents, settings)
    borders = units.token_offsets
    digest = hashlib.sha256()
    for start in range(0, len(chunks), _RECORDS_PER_STEP):
        part = slice(start, start + _RECORDS_PER_STEP)
        data = b"".join(
            _records(
                documents.pieces,
                borders,
                chunks.start[part],
                chunks.stop[part],
                documents.identities[chunks.document[part]],
            )
        )
        digest.update(data)
        file.write(data)
    num_tokens = borders[chunks.stop] - borders[chunks.start]
    num_sentences = chunks.stop - chunks.start
    long = np.diff(documents.sentence_offsets) > settings.max_tokens
    return ShardContent(
        num_examples=len(chunks),
        num_tokens=int(num_tokens.sum()),
        num_split_sentences=int(long.sum()),
        max_chunk_tokens=int(num_tokens.max(initial=0)),
        max_chunk_sentences=int(num_sentences.max(initial=0)),
        token_counts=_count_tokens(documents.pieces, vocabulary_size),
        sha256=digest.hexdigest(),
    )


def _cut(documents, settings):
    units = cut_long_sentences(documents, settings.max_tokens)
    targets = chunk_targets(
        documents.identities,
        seed=settings.seed,
        max_tokens=settings.max_tokens,
        short_sequence_probability=settings.short_sequence_probability,
    )
    every = np.arange(documents.num_documents)
    return units, cut_chunks(units, every, targets)


def _count_tokens(pieces, vocabulary_size):
    """Occurrences of each id; NumPy alone would make int64 of all at once."""
    counts = np.zeros(vocabulary_size, "int64")
    for start in range(0, len(pieces), _TOKENS_PER_STEP):
        token_ids = pieces[start : start + _TOKENS_PER_STEP] >> 1
        counts += np.bincount(token_ids, minlength=vocabulary_size)
    return counts


def _records(pieces, borders, start, stop, identities) -> Iterator[bytes]:
    """Encodes consecutive chunks; `borders` are those of their units."""
    pieces = pieces[borders[start[0]] : borders[stop[-1]]]
    lengths = borders[stop] - borders[start]
    tokens = offsets_of(lengths)
    features = (
        records.int64_lists(identities, np.arange(len(identities) + 1)),
        records.int64_lists(
            np.diff(borders[start[0] : stop[-1] + 1]),
            offsets_of(stop - start),
        ),
        records.int64_lists(pieces >> 1, tokens),
        _bit_strings(pieces & 1, tokens),
    )
    for document, sentences, ids, starts in zip(*features, strict=True):
        yield records.frame_record(
            records.example(
                {
                    "document": document,
                    "sentence_lengths": sentences,
                    "token_ids": ids,
                    "word_starts": records.bytes_list(starts),
                }
            )
        )


def _bit_strings(flags, offsets):
    """Yields the flags of each chunk as bits, each chunk on a whole byte."""
    lengths = np.diff(offsets)
    byte_offsets = offsets_of(-(-lengths // 8))
    places = np.arange(offsets[-1])
    places += np.repeat(8 * byte_offsets[:-1] - offsets[:-1], lengths)
    bits = np.zeros(8 * byte_offsets[-1], "bool")
    bits[places] = flags
    packed = np.packbits(bits, bitorder="little").tobytes()
    borders = byte_offsets.tolist()
    for start, stop in zip(borders, borders[1:], strict=False):
        yield packed[start:stop]
