import numpy as np
import pytest

from keras_albert.data.chunks import SentenceUnits
from keras_albert.data.chunks import chunk_targets
from keras_albert.data.chunks import cut_chunks
from keras_albert.data.chunks import cut_long_sentences


def units_of(*documents):
    """Units of documents given as lists of sentence lengths."""
    lengths = [length for document in documents for length in document]
    return SentenceUnits(
        token_offsets=np.cumsum([0, *lengths]),
        document_offsets=np.cumsum([0, *map(len, documents)]),
    )


def cut(units, target, following=None):
    num_documents = len(units.document_offsets) - 1
    return cut_chunks(units, np.arange(num_documents), target, following)


def test_sentences_are_gathered_until_the_target_is_reached():
    units = units_of([3, 3, 3, 9, 1], [20], [1, 1])

    chunks = cut(units, lambda document, chunk: np.full(document.shape, 6))

    assert chunks.document.tolist() == [0, 0, 0, 1, 2]
    assert chunks.chunk.tolist() == [0, 1, 2, 0, 0]
    assert chunks.start.tolist() == [0, 2, 4, 5, 6]
    assert chunks.stop.tolist() == [2, 4, 5, 6, 8]


def test_each_chunk_has_a_target_of_its_own():
    units = units_of([1] * 10)

    chunks = cut(units, lambda document, chunk: 1 + chunk)

    assert (chunks.stop - chunks.start).tolist() == [1, 2, 3, 4]


def test_the_next_chunk_may_begin_earlier():
    units = units_of([1] * 5)

    def following(document, chunk, start, stop):
        return np.where(chunk == 0, start + 1, stop)

    chunks = cut(units, lambda d, c: np.full(d.shape, 3), following)

    assert chunks.start.tolist() == [0, 1, 4]


def test_no_documents_give_no_chunks():
    assert len(cut(units_of(), lambda d, c: np.full(d.shape, 3))) == 0


def reference_chunks(lengths, targets):
    """One sentence after the other, as one would write it down."""
    chunks, current = [], []
    for length in lengths:
        current.append(length)
        if sum(current) >= targets(len(chunks)):
            chunks.append(current)
            current = []
    return chunks + [current] * bool(current)


def test_chunks_are_those_of_a_plain_loop():
    random = np.random.default_rng(0)
    documents = [
        random.integers(1, 30, random.integers(1, 40)).tolist()
        for _ in range(50)
    ]
    units = units_of(*documents)
    identities = random.integers(-(2**63), 2**63 - 1, 50)
    target = chunk_targets(
        identities, seed=5, max_tokens=61, short_sequence_probability=0.3
    )

    chunks = cut(units, target)

    for index, lengths in enumerate(documents):
        mine = chunks.document == index
        found = [
            np.diff(units.token_offsets[start : stop + 1]).tolist()
            for start, stop in zip(
                chunks.start[mine], chunks.stop[mine], strict=True
            )
        ]
        expected = reference_chunks(
            lengths,
            lambda chunk, index=index: target(
                np.array([index]), np.array([chunk])
            )[0],
        )
        assert found == expected


def draws(identities, seed=1, probability=0.1, num_chunks=1):
    target = chunk_targets(
        np.asarray(identities),
        seed=seed,
        max_tokens=100,
        short_sequence_probability=probability,
    )
    document = np.repeat(np.arange(len(identities)), num_chunks)
    chunk = np.tile(np.arange(num_chunks), len(identities))
    return target(document, chunk)


def test_targets_follow_the_text_and_not_its_place():
    identities = np.arange(1000) - 500

    forward = draws(identities, num_chunks=3)
    backward = draws(identities[::-1], num_chunks=3)

    assert (forward.reshape(-1, 3) == backward.reshape(-1, 3)[::-1]).all()


def test_the_share_of_short_targets_is_as_asked_for():
    targets = draws(np.arange(20_000), probability=0.1)

    short = targets[targets < 100]
    # A short target may be the full length by chance: 1 of 99.
    assert len(short) / 20_000 == pytest.approx(0.1 * 98 / 99, abs=0.008)
    assert short.min() == 2
    assert short.mean() == pytest.approx((2 + 99) / 2, abs=2.5)


@pytest.mark.parametrize("probability, expected", [(0, 0), (1, 98 / 99)])
def test_short_targets_never_or_always(probability, expected):
    targets = draws(np.arange(5000), probability=probability)

    assert (targets < 100).mean() == pytest.approx(expected, abs=0.01)


def test_another_seed_draws_other_targets():
    first, second = (draws(np.arange(2000), seed, 1.0) for seed in (1, 2))

    assert (first == second).mean() < 0.05


class Text:
    """What `cut_long_sentences` needs of a corpus."""

    def __init__(self, lengths, word_starts):
        self.sentence_offsets = np.cumsum([0, *lengths])
        self.document_offsets = np.array([0, len(lengths)])
        self.word_starts = np.array(word_starts, "bool")


def test_long_sentences_are_cut_before_words():
    starts = [1, 0, 0, 1, 0, 1, 0, 0, 1, 0]

    units = cut_long_sentences(Text([3, 7], [1, 0, 0, *starts[:7]]), 4)

    # 7 tokens in two parts of about 4, but the second word begins at 3.
    assert units.token_offsets.tolist() == [0, 3, 6, 10]
    assert units.document_offsets.tolist() == [0, 3]


def test_a_long_word_is_cut_inside():
    units = cut_long_sentences(Text([10], [1] + [0] * 9), 4)

    assert units.token_offsets.tolist() == [0, 4, 7, 10]
