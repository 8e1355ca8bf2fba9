"""Properties are checked on a toy corpus whose token `i` is the number `i`."""

import dataclasses

import numpy as np
import pytest

from keras_albert.data.segment_pairs import PairPlan
from keras_albert.data.segment_pairs import count_examples
from keras_albert.data.segment_pairs import cut_long_sentences
from keras_albert.data.segment_pairs import plan_segment_pairs
from keras_albert.data.tokenized_corpus import TokenizedCorpus

OBJECTIVES = ["sop", "nsp", "none"]
ARRAYS = [field.name for field in dataclasses.fields(PairPlan)][:6]


def make_corpus(*documents, word_starts=None):
    """A corpus of documents given as lists of sentence lengths."""
    lengths = np.concatenate(documents).astype("int64")
    starts = np.ones(lengths.sum(), "bool")
    if word_starts is not None:
        starts[:] = word_starts
    return TokenizedCorpus(
        token_ids=np.arange(lengths.sum(), dtype="int32"),
        word_starts=starts,
        sentence_offsets=np.append(0, lengths.cumsum()),
        document_offsets=np.append(0, np.cumsum([*map(len, documents)])),
    )


def random_corpus(num_documents=200, seed=0):
    random = np.random.default_rng(seed)
    documents = [
        np.minimum(random.geometric(1 / 12, random.integers(1, 30)), 90)
        for _ in range(num_documents)
    ]
    total = sum(map(np.sum, documents))
    return make_corpus(*documents, word_starts=random.random(total) < 0.7)


CORPUS = random_corpus()


def plan(corpus=CORPUS, **arguments):
    settings = {"sequence_length": 40, "seed": 1, **arguments}
    return plan_segment_pairs(corpus, **settings)


def rows(plan):
    return np.stack([getattr(plan, name) for name in ARRAYS[:5]], axis=1)


def spans(plan):
    """Start and end of both segments, each of shape (num_examples, 2)."""
    starts = np.stack([plan.first_start, plan.second_start], axis=1)
    lengths = np.stack([plan.first_length, plan.second_length], axis=1)
    return starts, starts + lengths


def document_of(corpus, position):
    ends = corpus.sentence_offsets[corpus.document_offsets[1:]]
    return np.searchsorted(ends, position, side="right")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("sequence_length", [8, 9, 40, 128])
def test_every_example_fits_and_no_segment_is_empty(objective, sequence_length):
    made = plan(objective=objective, sequence_length=sequence_length)

    num_special = np.where(made.second_length > 0, 3, 2)
    total = made.first_length + made.second_length + num_special
    assert total.max() <= sequence_length
    assert made.first_length.min() >= 1
    paired = made.sentence_order_weight == 1
    assert (made.second_length[paired] >= 1).all()
    assert (made.second_length[~paired] == 0).all()
    assert (made.sentence_order[~paired] == 0).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_segment_lies_in_one_document(objective):
    starts, ends = spans(plan(objective=objective))

    filled = ends > starts
    first_document = document_of(CORPUS, starts)
    last_document = document_of(CORPUS, np.maximum(ends - 1, starts))
    assert (first_document == last_document)[filled].all()
    assert ends[filled].max() <= CORPUS.num_tokens


def test_sentence_order_never_pairs_two_documents():
    made = plan()
    starts, _ = spans(made)

    paired = made.second_length > 0
    documents = document_of(CORPUS, starts)[paired]
    assert (documents[:, 0] == documents[:, 1]).all()


@pytest.mark.parametrize("swap_probability, expected", [(0.0, 0), (1.0, 1)])
def test_the_label_says_whether_the_order_is_reversed(
    swap_probability, expected
):
    made = plan(swap_probability=swap_probability)
    starts, ends = spans(made)

    paired = made.second_length > 0
    reversed_order = starts[:, 0] >= ends[:, 1]
    in_order = starts[:, 1] >= ends[:, 0]
    assert (made.sentence_order[paired] == expected).all()
    assert [in_order, reversed_order][expected][paired].all()


def test_half_of_the_pairs_are_swapped():
    label = plan(sequence_length=20).sentence_order

    assert abs(label.mean() - 0.5) < 4 * 0.5 / len(label) ** 0.5


def test_untrimmed_segments_meet_at_a_sentence_border():
    corpus = make_corpus(*[[5, 3, 4, 6, 2]] * 20)

    made = plan(
        corpus,
        sequence_length=64,
        swap_probability=0.0,
        short_sequence_probability=0.0,
    )

    assert made.num_split_sentences == 0
    whole = made.first_length + made.second_length < 64 - 3
    starts, ends = spans(made)
    borders = [starts[whole, 0], ends[whole, 0], ends[whole, 1]]
    assert whole.sum() > 1
    assert np.isin(borders, corpus.sentence_offsets).all()
    assert (ends[whole, 0] == starts[whole, 1]).all()


def test_chunks_tile_the_document_when_nothing_is_trimmed():
    corpus = make_corpus([4] * 100, [4] * 7)

    made = plan(
        corpus,
        sequence_length=4 * 5 + 3,
        short_sequence_probability=0.0,
        swap_probability=0.0,
    )

    assert made.first_start.tolist() == [*range(0, 400, 20), 400, 420]
    total = made.first_length + made.second_length
    assert total.tolist() == [20] * 21 + [8]
    assert made.num_trimmed_tokens == 0


def test_every_border_of_a_chunk_can_split_it():
    corpus = make_corpus(*[[4] * 5] * 400)

    made = plan(corpus, sequence_length=23, short_sequence_probability=0.0)

    shares = np.bincount(made.first_length // 4, minlength=6)[1:5] / len(made)
    np.testing.assert_allclose(shares, 0.25, atol=0.09)


def test_the_longer_segment_is_trimmed():
    corpus = make_corpus(*[[7, 60]] * 50, *[[60, 7]] * 50, *[[50, 51]] * 50)

    made = plan(corpus, sequence_length=40, swap_probability=0.0)

    lengths = [made.first_length, made.second_length]
    kept = np.stack(lengths, axis=1)[made.sentence_order_weight == 1]
    assert kept.sum(axis=1).max() == 37


@pytest.mark.parametrize(
    "lengths, expected",
    [
        ((7, 30), (7, 30)),
        ((9, 33), (9, 28)),
        ((33, 9), (28, 9)),
        ((30, 31), (19, 18)),
        ((31, 20), (19, 18)),
    ],
)
def test_trimming_equals_one_token_after_the_other(lengths, expected):
    corpus = make_corpus(lengths, [1, 1])

    made = plan(
        corpus,
        swap_probability=0.0,
        short_sequence_probability=0.0,
        document_slice=slice(0, 1),
    )

    assert (made.first_length[0], made.second_length[0]) == expected
    assert made.num_trimmed_tokens == sum(lengths) - sum(expected)


def test_tokens_are_cut_from_the_front_and_the_back():
    corpus = make_corpus(*[[5, 36]] * 3000)

    made = plan(corpus, swap_probability=0.0, short_sequence_probability=0.0)

    from_front = (made.second_start - 5) % 41
    counts = np.bincount(from_front, minlength=5) / len(made)
    np.testing.assert_allclose(
        counts, np.array([1, 4, 6, 4, 1]) / 16, atol=0.03
    )


def test_a_lone_sentence_is_split_at_a_word_start():
    starts = np.array([1, 0, 0, 1, 0, 1, 0, 0] * 300, "bool")
    corpus = make_corpus(*[[8]] * 299, [4, 4], word_starts=starts)

    made = plan(corpus, swap_probability=0.0, document_slice=slice(0, 299))

    assert made.num_split_sentences == 299
    assert (made.sentence_order_weight == 1).all()
    assert sorted(set(made.first_length)) == [3, 5]
    assert (made.first_length + made.second_length == 8).all()


def test_a_lone_word_serves_masking_only():
    starts = np.array([1, 0, 0, 1, 0, 0, 1, 1], "bool")
    corpus = make_corpus([3], [3], [1, 1], word_starts=starts)

    made = plan(corpus, short_sequence_probability=0.0)

    assert made.sentence_order_weight.tolist() == [0, 0, 1]
    assert made.first_length.tolist()[:2] == [3, 3]
    assert made.num_single_segments == 2


def test_long_sentences_are_cut_not_lost():
    corpus = make_corpus([250, 3, 100], [5, 90, 5])

    made = plan(corpus, objective="none", short_sequence_probability=0.0)
    units = cut_long_sentences(corpus, 38)

    assert np.diff(units.token_offsets).max() <= 38
    assert set(corpus.sentence_offsets) <= set(units.token_offsets)
    borders = units.token_offsets[units.document_offsets]
    assert borders.tolist() == [0, 353, 453]
    covered = made.first_length.sum() + made.num_trimmed_tokens
    assert covered == corpus.num_tokens


def test_long_sentences_are_cut_before_a_word():
    starts = np.arange(203) % 7 == 0
    corpus = make_corpus([203], word_starts=starts)

    units = cut_long_sentences(corpus, 30)

    assert (units.token_offsets[:-1] % 7 == 0).all()
    assert np.diff(units.token_offsets).max() <= 30


def test_a_word_longer_than_the_sequence_is_cut_inside():
    corpus = make_corpus([100, 2], word_starts=np.arange(102) % 100 == 0)

    units = cut_long_sentences(corpus, 30)

    assert units.token_offsets.tolist() == [0, 25, 50, 75, 100, 102]


def test_next_sentence_label_1_comes_from_another_document():
    made = plan(objective="nsp")
    starts, ends = spans(made)

    paired = made.sentence_order_weight == 1
    same = np.equal(*document_of(CORPUS, starts).T)
    label = made.sentence_order
    assert (same == (label == 0))[paired].all()
    assert (starts[:, 1] >= ends[:, 0])[paired & (label == 0)].all()
    assert abs(label[paired].mean() - 0.5) < 0.05


def test_a_second_segment_that_is_not_used_begins_the_next_example():
    corpus = make_corpus([1] * 200, [1] * 100)

    made = plan(
        corpus,
        objective="nsp",
        swap_probability=1.0,
        short_sequence_probability=0.0,
    )

    ends = made.first_start + made.first_length
    assert made.first_start[0] == 0
    assert (made.first_start[1:] == ends[:-1]).all()
    assert ends[-1] == corpus.num_tokens


def test_short_examples_have_their_share():
    corpus = make_corpus(*[[1] * 2000] * 20)

    made = plan(corpus, sequence_length=103)

    total = made.first_length + made.second_length
    ends_document = np.append(
        np.diff(document_of(corpus, spans(made)[0][:, 0])) > 0, True
    )
    short = total[~ends_document] < 100
    assert abs(short.mean() - 0.1) < 0.05
    assert total.min() >= 1


def test_no_short_examples_when_the_share_is_zero():
    corpus = make_corpus([1] * 1000)

    made = plan(corpus, short_sequence_probability=0.0)

    assert set((made.first_length + made.second_length)[:-1]) == {37}


def test_all_short_examples_have_all_lengths():
    corpus = make_corpus([1] * 40000)

    made = plan(corpus, short_sequence_probability=1.0)

    total = (made.first_length + made.second_length)[:-1]
    assert set(total) == set(range(2, 38))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_seed_gives_the_same_plan(objective):
    one, two = plan(objective=objective), plan(objective=objective)

    assert rows(one).tobytes() == rows(two).tobytes()


@pytest.mark.parametrize("change", [{"seed": 2}, {"epoch": 1}])
def test_another_seed_or_epoch_gives_other_pairs(change):
    one, two = plan(), plan(**change)

    num_equal = (rows(one)[:50, None] == rows(two)[None, :50]).all(-1).sum()
    assert num_equal < 15


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_slices_of_documents_make_the_whole_plan(objective):
    slices = [slice(0, 70), slice(70, 71), slice(71, None)]

    parts = [plan(objective=objective, document_slice=s) for s in slices]

    whole = rows(plan(objective=objective))
    assert (np.concatenate([*map(rows, parts)]) == whole).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("epoch", [0, 3])
def test_counting_agrees_with_planning(objective, epoch):
    settings = {"sequence_length": 40, "seed": 1, "epoch": epoch}

    number = count_examples(CORPUS, objective=objective, **settings)

    assert number == len(plan(objective=objective, epoch=epoch))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"objective": "sbo"}, "objective='sbo'"),
        ({"sequence_length": 7}, "at least 8.*sequence_length=7"),
        ({"swap_probability": 1.5}, "swap_probability=1.5"),
        ({"short_sequence_probability": -1}, "short_sequence_probability=-1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(**arguments)


def test_documents_of_one_sentence_cannot_teach_order():
    with pytest.raises(ValueError, match="each of the 3 documents is a single"):
        plan(make_corpus([5], [6], [7]))


def test_next_sentence_prediction_needs_two_documents():
    with pytest.raises(ValueError, match="at least two documents"):
        plan(make_corpus([5, 6]), objective="nsp")
