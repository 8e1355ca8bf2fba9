"""Chunks: consecutive sentences of one document, up to a target length.

    sentences of a document      |s0 |s1|  s2 |s3|s4 | s5 |
    chunks of the target length  |    c0      |     c1    |

A chunk is an example before it is split into two segments, swapped, trimmed
and masked. Chunks are cut with NumPy for all documents at once.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_albert.data.counter_random import derive_key
from keras_albert.data.counter_random import randint
from keras_albert.data.counter_random import uniform

# What a packed pair adds to its tokens: [CLS] A [SEP] B [SEP].
NUM_SPECIAL_TOKENS = 3

# Each kind of choice has a stream of its own.
_SHORT, _TARGET = range(2)
_CHUNK_KEY = 0x4348554E


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceUnits:
    """Sentences, the long ones cut into parts; offsets as in a corpus."""

    token_offsets: np.ndarray
    document_offsets: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Chunks:
    """One row per chunk; a chunk is a range of units.

    Args:
        document: int64 array of shape `(num_chunks,)`. Which document.
        chunk: int64 array of shape `(num_chunks,)`. 0 for the document's
            first chunk, 1 for its second, and so on.
        start: int64 array of shape `(num_chunks,)`. The chunk's first unit.
        stop: int64 array of shape `(num_chunks,)`. The unit after its last.
    """

    document: np.ndarray
    chunk: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    def __len__(self):
        return len(self.document)


def cut_long_sentences(corpus, max_tokens: int) -> SentenceUnits:
    """Cuts sentences longer than the sequence into parts of similar length.

    Args:
        corpus: `TokenizedCorpus` or `TokenizedDocuments`.
        max_tokens: int. The longest part.

    Returns:
        `SentenceUnits` whose parts end before a word start where there is one.
    """
    offsets = corpus.sentence_offsets
    long = np.flatnonzero(np.diff(offsets) > max_tokens)
    if not long.size:
        return SentenceUnits(offsets, corpus.document_offsets)
    word_starts = corpus.word_starts
    cuts = [
        _cut_points(word_starts, *offsets[i : i + 2], max_tokens) for i in long
    ]
    num_new = np.zeros(len(offsets), "int64")
    num_new[long + 1] = [len(points) for points in cuts]
    shifts = np.cumsum(num_new)
    return SentenceUnits(
        np.sort(np.concatenate([offsets, *cuts])),
        corpus.document_offsets + shifts[corpus.document_offsets],
    )


def _cut_points(word_starts, start, stop, max_tokens):
    points = []
    while stop - start > max_tokens:
        num_parts = -(-(stop - start) // max_tokens)
        ideal = start + -(-(stop - start) // num_parts)
        starts = np.flatnonzero(word_starts[start + 1 : ideal + 1])
        start = start + 1 + starts[-1] if starts.size else ideal
        points.append(start)
    return np.array(points, "int64")


def cut_chunks(
    units: SentenceUnits,
    documents: np.ndarray,
    target: Callable,
    following: Callable | None = None,
) -> Chunks:
    """Gathers the units of documents until each chunk reaches its target.

    The n-th round makes the n-th chunk of each document that still has units,
    so that there are as many rounds as the longest document has chunks.

    Args:
        units: `SentenceUnits`.
        documents: int64 array of shape `(num_documents,)`. Which documents.
        target: function of the arrays `(document, chunk)` to the number of
            tokens at which each chunk is full.
        following: function of the arrays `(document, chunk, start, stop)` to
            the unit where the next chunk begins. Defaults to `None`: at
            `stop`.

    Returns:
        `Chunks`, document after document.
    """
    document = np.asarray(documents, "int64")
    start = units.document_offsets[document]
    rounds = []
    while document.size:
        chunk = np.full(document.shape, len(rounds))
        last = units.document_offsets[document + 1]
        reached = units.token_offsets[start] + target(document, chunk)
        stop = np.searchsorted(units.token_offsets, reached, side="left")
        stop = np.minimum(stop, last)
        rounds.append((document, chunk, start, stop))
        begin = stop
        if following is not None:
            begin = following(document, chunk, start, stop)
        going_on = begin < last
        document = document[going_on]
        start = begin[going_on]
    if not rounds:
        return Chunks(*np.zeros((4, 0), "int64"))
    columns = [np.concatenate(column) for column in zip(*rounds, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Chunks(*(column[order] for column in columns))


def chunk_targets(
    identities: np.ndarray,
    *,
    seed: int,
    max_tokens: int,
    short_sequence_probability: float,
) -> Callable:
    """Draws target lengths by what a document says, not by where it stands.

    Args:
        identities: int64 array of shape `(num_documents,)`, hashes of the
            documents' text. Same text, same targets.
        seed: int.
        max_tokens: int. The target of a full chunk.
        short_sequence_probability: float. Share of chunks with a shorter
            target, drawn evenly from 2 to `max_tokens`.

    Returns:
        A function for `cut_chunks`.
    """
    keys = derive_key(_CHUNK_KEY, seed, identities)

    def target(document, chunk):
        key = derive_key(keys[document], chunk)
        short = uniform(key, _SHORT) < short_sequence_probability
        drawn = randint(key, _TARGET, 2, max_tokens + 1)
        return np.where(short, drawn, max_tokens)

    return target
