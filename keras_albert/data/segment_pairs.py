"""Pairs of segments for sentence-order prediction.

    sentences of a document      |s0 |s1|  s2 |s3|s4 | s5 |
    chunks of the target length  |    c0      |     c1    |   (cut_chunks)
    two segments of each chunk   |A  |  B     | A   | B   |   (split)
    one half of them swapped     |  B     |A  | A   | B   |   (swap)
    the longer one trimmed       |  B    |A  |  A   | B  |    (trim)

Everything is computed for all documents at once with NumPy, and every choice
is a hash of (seed, epoch, document, chunk): a document's pairs do not depend
on the other documents (but for `objective="nsp"`, which needs them).
"""

import dataclasses
from typing import Literal

import numpy as np

from keras_albert.data.chunks import NUM_SPECIAL_TOKENS
from keras_albert.data.chunks import cut_chunks
from keras_albert.data.chunks import cut_long_sentences
from keras_albert.data.counter_random import coin_flips
from keras_albert.data.counter_random import derive_key
from keras_albert.data.counter_random import randint
from keras_albert.data.counter_random import uniform
from keras_albert.data.tokenized_corpus import TokenizedCorpus

OBJECTIVES = ("sop", "nsp", "none")
Objective = Literal["sop", "nsp", "none"]

MIN_SEQUENCE_LENGTH = 8

# Each kind of choice has a stream of its own.
_SHORT, _TARGET, _SPLIT, _SWAP, _TRIM, _OTHER, _OTHER_START = range(7)
_PLAN_KEY = 0x504C414E


@dataclasses.dataclass(frozen=True, eq=False)
class PairPlan:
    """One row per example; segments are ranges of the corpus's token ids.

    Args:
        first_start: int64 array of shape `(num_examples,)`. Where segment A
            begins in `corpus.token_ids`.
        first_length: int64 array of shape `(num_examples,)`.
        second_start: int64 array of shape `(num_examples,)`.
        second_length: int64 array of shape `(num_examples,)`. 0 for an
            example of one segment.
        sentence_order: int64 array of shape `(num_examples,)`. With `"sop"`,
            1 = swapped and 0 = in order; with `"nsp"`, 1 = from another
            document and 0 = the next segment.
        sentence_order_weight: float32 array of shape `(num_examples,)`. 0 for
            an example of one segment, otherwise 1.
        num_split_sentences: int. Chunks of a single sentence that were split
            inside it.
        num_single_segments: int. Examples that serve the masked-LM task only.
        num_trimmed_tokens: int. Tokens cut off so that pairs fit.
    """

    first_start: np.ndarray
    first_length: np.ndarray
    second_start: np.ndarray
    second_length: np.ndarray
    sentence_order: np.ndarray
    sentence_order_weight: np.ndarray
    num_split_sentences: int
    num_single_segments: int
    num_trimmed_tokens: int

    def __len__(self):
        return len(self.first_start)


def plan_segment_pairs(
    corpus: TokenizedCorpus,
    *,
    sequence_length: int,
    seed: int,
    epoch: int = 0,
    objective: Objective = "sop",
    short_sequence_probability: float = 0.1,
    swap_probability: float = 0.5,
    document_slice: slice = slice(None),
) -> PairPlan:
    """Chooses the two segments of every example of one epoch.

    Consecutive sentences of a document are gathered until they reach the
    target length, split in two at a random sentence border, and swapped or
    not. A pair that is too long loses tokens of its longer segment, each from
    the front or the back.

    Relative to Google's code: a chunk of one sentence never takes a second
    segment from another document; it is split at a word start, or used for
    masking only if it is a single word. A sentence longer than the sequence
    is first cut into equal parts, so that none of its text is lost. The short
    target is drawn per example, not per document, so that
    `short_sequence_probability` is the share of examples. Pairs are drawn
    afresh in each epoch.

    Args:
        corpus: `TokenizedCorpus`.
        sequence_length: int. Length of the example with its special tokens,
            `[CLS] A [SEP] B [SEP]`.
        seed: int.
        epoch: int. Another epoch gives other pairs. Defaults to `0`.
        objective: `"sop"` for sentence order, `"nsp"` for next-sentence
            prediction as in BERT, `"none"` for single segments. Defaults to
            `"sop"`.
        short_sequence_probability: float. Share of examples with a random
            shorter target. Defaults to `0.1`.
        swap_probability: float. Share of pairs with label 1: swapped, or with
            `"nsp"` from another document. Defaults to `0.5`.
        document_slice: slice of documents to plan for. The plans of slices,
            one after the other, are the plan of the whole. Defaults to all.

    Returns:
        A `PairPlan`, in the order of the documents.

    Raises:
        ValueError: If an argument is out of range, or if sentence order is
            asked for and every document is a single sentence.
    """
    _check_arguments(
        corpus,
        sequence_length,
        objective,
        short_sequence_probability,
        swap_probability,
    )
    max_tokens = _max_tokens(sequence_length, objective)
    units = cut_long_sentences(corpus, max_tokens)
    choices = _Choices(derive_key(_PLAN_KEY, seed, epoch), swap_probability)
    chunks = _cut_chunks(
        units,
        choices,
        max_tokens,
        objective,
        short_sequence_probability,
        np.arange(corpus.num_documents)[document_slice],
    )
    target = _target_length(
        choices,
        chunks.document,
        chunks.chunk,
        max_tokens,
        short_sequence_probability,
    )
    return _split_chunks(
        corpus, units, choices, chunks, target, max_tokens, objective
    )


def count_examples(
    corpus: TokenizedCorpus,
    *,
    sequence_length: int,
    seed: int,
    epoch: int = 0,
    objective: Objective = "sop",
    short_sequence_probability: float = 0.1,
    swap_probability: float = 0.5,
) -> int:
    """Counts the examples of an epoch; `len` of its plan, but quicker.

    Args:
        corpus: `TokenizedCorpus`.
        sequence_length: int. As in `plan_segment_pairs`, like all others.
        seed: int.
        epoch: int.
        objective: string.
        short_sequence_probability: float.
        swap_probability: float.

    Returns:
        An int.
    """
    max_tokens = _max_tokens(sequence_length, objective)
    chunks = _cut_chunks(
        cut_long_sentences(corpus, max_tokens),
        _Choices(derive_key(_PLAN_KEY, seed, epoch), swap_probability),
        max_tokens,
        objective,
        short_sequence_probability,
        np.arange(corpus.num_documents),
    )
    return len(chunks.document)


def _max_tokens(sequence_length, objective):
    """An example of one segment has one [SEP] less."""
    return sequence_length - NUM_SPECIAL_TOKENS + (objective == "none")


class _Choices:
    """Random numbers of an epoch, addressed by document, chunk and stream."""

    def __init__(self, key, swap_probability):
        self._key = key
        self._swap_probability = swap_probability

    def keys(self, document, chunk, stream):
        return derive_key(self._key, document, chunk, stream)

    def fraction(self, document, chunk, stream):
        return uniform(self.keys(document, chunk, stream), 0)

    def integer(self, document, chunk, stream, low, high):
        return randint(self.keys(document, chunk, stream), 0, low, high)

    def split(self, document, chunk, start, stop):
        """The unit at which the second segment begins; `stop` if none does."""
        high = np.maximum(stop, start + 2)
        split = self.integer(document, chunk, _SPLIT, start + 1, high)
        return np.minimum(split, stop)

    def label(self, document, chunk):
        share = self.fraction(document, chunk, _SWAP)
        return (share < self._swap_probability).astype("int64")


def _cut_chunks(units, choices, max_tokens, objective, short, documents):
    """Cuts the units of every document into chunks, all documents at once."""

    def target(document, chunk):
        return _target_length(choices, document, chunk, max_tokens, short)

    def following(document, chunk, start, stop):
        """With `"nsp"`, a second segment that is not used begins anew."""
        split = choices.split(document, chunk, start, stop)
        random = choices.label(document, chunk) == 1
        return np.where(random, split, stop)

    return cut_chunks(
        units, documents, target, following if objective == "nsp" else None
    )


def _target_length(choices, document, chunk, max_tokens, short_probability):
    short = choices.fraction(document, chunk, _SHORT) < short_probability
    drawn = choices.integer(document, chunk, _TARGET, 2, max_tokens + 1)
    return np.where(short, drawn, max_tokens)


def _split_chunks(
    corpus, units, choices, chunks, target, max_tokens, objective
):
    """Turns chunks into segments: split, swap and trim."""
    split = choices.split(
        chunks.document, chunks.chunk, chunks.start, chunks.stop
    )
    start, split, stop = (
        units.token_offsets[unit] for unit in (chunks.start, split, chunks.stop)
    )
    if objective == "none":
        return _single_segments(choices, chunks, start, stop, max_tokens)
    one_unit = chunks.stop - chunks.start == 1
    inside = _inner_word_start(corpus, choices, chunks, start, stop)
    split = np.where(one_unit, inside, split)
    paired = split < stop
    label = np.where(paired, choices.label(chunks.document, chunks.chunk), 0)
    first = (start, split - start)
    second = (split, stop - split)
    if objective == "sop":
        pair = first, second
        first, second = _choose(label, *pair), _choose(label, *pair[::-1])
    else:
        other = _other_segments(units, choices, chunks, target - first[1])
        second = _choose(label, second, other)
    return _trimmed_plan(
        choices,
        chunks,
        first,
        second,
        max_tokens,
        sentence_order=label,
        sentence_order_weight=paired.astype("float32"),
        num_split_sentences=int((one_unit & paired).sum()),
    )


def _choose(label, when_0, when_1):
    """Picks (start, length) of one segment or the other, by the label."""
    pairs = zip(when_0, when_1, strict=True)
    return tuple(np.where(label == 1, b, a) for a, b in pairs)


def _single_segments(choices, chunks, start, stop, max_tokens):
    nothing = np.zeros(len(start), "int64")
    return _trimmed_plan(
        choices,
        chunks,
        (start, stop - start),
        (stop, nothing),
        max_tokens,
        sentence_order=nothing,
        sentence_order_weight=nothing.astype("float32"),
        num_split_sentences=0,
    )


def _inner_word_start(corpus, choices, chunks, start, stop):
    """A random word start inside the chunk; its end if there is none."""
    places = np.flatnonzero(corpus.word_starts)
    low = np.searchsorted(places, start + 1)
    high = np.searchsorted(places, stop)
    pick = choices.integer(
        chunks.document, chunks.chunk, _SPLIT, low, np.maximum(high, low + 1)
    )
    pick = np.minimum(pick, max(0, len(places) - 1))
    chosen = places[pick] if len(places) else stop
    return np.where(high > low, chosen, stop)


def _other_segments(units, choices, chunks, room):
    """Segments of other documents that fill the room, for `"nsp"`."""
    num_documents = len(units.document_offsets) - 1
    draw = (chunks.document, chunks.chunk)
    other = choices.integer(*draw, _OTHER, 0, num_documents - 1)
    other = other + (other >= chunks.document)  # never the same document
    begin, end = (
        units.document_offsets[other],
        units.document_offsets[other + 1],
    )
    start = choices.integer(*draw, _OTHER_START, begin, end)
    reached = units.token_offsets[start] + room
    stop = np.searchsorted(units.token_offsets, reached, side="left")
    stop = np.clip(stop, start + 1, end)
    start, stop = units.token_offsets[start], units.token_offsets[stop]
    return start, stop - start


def _trimmed_plan(choices, chunks, first, second, max_tokens, **columns):
    """Trims the longer segment of each pair until the pair fits.

    One token after the other would be taken off the longer segment, from the
    front or the back by the toss of a coin; here the end of that process is
    computed.
    """
    lengths = np.stack([first[1], second[1]])
    over = np.maximum(lengths.sum(0) - max_tokens, 0)
    shorter = np.minimum(*lengths)
    kept = np.where(
        2 * shorter <= max_tokens,
        np.where(lengths == shorter, shorter, max_tokens - shorter),
        np.stack(np.broadcast_arrays((max_tokens + 1) // 2, max_tokens // 2))[
            :, None
        ],
    )
    kept = np.where(over > 0, kept, lengths)
    removed = lengths - kept
    starts = [
        segment[0]
        + coin_flips(
            choices.keys(chunks.document, chunks.chunk, _TRIM + 8 * side),
            removed[side],
        )
        for side, segment in enumerate((first, second))
    ]
    return PairPlan(
        first_start=starts[0],
        first_length=kept[0],
        second_start=starts[1],
        second_length=kept[1],
        num_single_segments=int((kept[1] == 0).sum()),
        num_trimmed_tokens=int(removed.sum()),
        **columns,
    )


def _check_arguments(corpus, sequence_length, objective, short, swap):
    if objective not in OBJECTIVES:
        raise ValueError(
            f"`objective` must be one of {OBJECTIVES}. "
            f"Received: objective={objective!r}."
        )
    if sequence_length < MIN_SEQUENCE_LENGTH:
        raise ValueError(
            f"`sequence_length` must be at least {MIN_SEQUENCE_LENGTH}. "
            f"Received: sequence_length={sequence_length}. "
            "Use 128 or more for running text."
        )
    for name, rate in (
        ("short_sequence_probability", short),
        ("swap_probability", swap),
    ):
        if not 0 <= rate <= 1:
            raise ValueError(
                f"`{name}` must lie in [0, 1]. Received: {name}={rate}."
            )
    if objective == "nsp" and corpus.num_documents < 2:
        raise ValueError(
            "Next-sentence prediction needs at least two documents. Received a "
            'corpus of one. Use objective="sop", or check that blank lines '
            "separate the documents."
        )
    if objective == "sop" and corpus.num_sentences == corpus.num_documents:
        raise ValueError(
            "Sentence order cannot be learnt: each of the "
            f"{corpus.num_documents} documents is a single sentence. Put a "
            "blank line between documents, not between sentences, or use "
            'objective="none".'
        )
