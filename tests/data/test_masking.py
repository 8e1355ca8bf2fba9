"""The judge is a plain loop in Python, written from the description."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import masking
from keras_albert.data.counter_random import derive_key
from keras_albert.data.masking import MaskingRates
from keras_albert.data.masking import choose_masked_tokens
from keras_albert.data.masking import default_num_predictions
from keras_albert.data.masking import mask_tokens

LOW_64_BITS = (1 << 64) - 1
MASK_ID = 4
REPLACEMENTS = np.arange(1000, 1500, dtype="int32")


def bits(key, counter):
    """SplitMix64 at one counter, in Python integers."""
    z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & LOW_64_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & LOW_64_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & LOW_64_BITS
    return z ^ (z >> 31)


class Reference:
    """One row, position after position."""

    def __init__(self, maskable, word_starts, num_tokens, key, P, rates):
        self.length = len(maskable)
        self.key = int(key)
        self.rates = rates
        self.budget = min(P, max(1, round(rates.masking_rate * num_tokens)))
        self.words = self._words(maskable, word_starts)
        self.spans = self._spans()
        self.chosen = self._chosen()

    def draw(self, stream, position):
        return bits(self.key, stream * self.length + position)

    def uniform(self, stream, position):
        return np.float32((self.draw(stream, position) >> 40) / 2**24)

    def _words(self, maskable, word_starts):
        words = []
        for position in range(self.length):
            if not maskable[position]:
                continue
            after_barrier = position == 0 or not maskable[position - 1]
            starts = word_starts[position] or not self.rates.whole_word
            if starts or after_barrier:
                words.append([])
            words[-1].append(position)
        return [word for word in words if len(word) <= self.budget]

    def _spans(self):
        n = np.arange(1, self.rates.max_ngram + 1)
        limits = np.cumsum(1 / n / (1 / n).sum())[:-1].astype("float32")
        spans = []
        wanted = 0
        for word in self.words:
            adjacent = spans and spans[-1][-1][-1] + 1 == word[0]
            if adjacent and len(spans[-1]) < wanted:
                spans[-1].append(word)
                continue
            wanted = 1 + sum(self.uniform(0, word[0]) >= x for x in limits)
            spans.append([word])
        return spans

    def _chosen(self):
        numbers = range(len(self.spans))
        order = sorted(numbers, key=lambda number: self.draw(1, number) >> 18)
        words = [word for number in order for word in self.spans[number]]
        chosen = []
        while words and len(chosen) + len(words[0]) <= self.budget:
            chosen.extend(words.pop(0))
        room = self.budget - len(chosen)
        for word in [word for word in words if len(word) <= room]:
            if len(chosen) + len(word) > self.budget:
                break
            chosen.extend(word)
        return sorted(chosen)

    def shown(self, token_ids):
        shown = list(token_ids)
        hidden = self.rates.mask_token_rate
        for position in self.chosen:
            fate = self.uniform(2, position)
            pick = (self.draw(3, position) >> 32) * len(REPLACEMENTS) >> 32
            if fate < np.float32(hidden):
                shown[position] = MASK_ID
            elif fate < np.float32(hidden + self.rates.random_token_rate):
                shown[position] = int(REPLACEMENTS[pick])
        return shown


def random_rows(num_rows, length, seed=0, word_rate=0.7, hole_rate=0.04):
    random = np.random.default_rng(seed)
    num_tokens = random.integers(3, length + 1, num_rows).astype("int32")
    real = np.arange(length) < num_tokens[:, None]
    shape = (num_rows, length)
    return {
        "token_ids": random.integers(5, 900, shape).astype("int32"),
        "maskable": real & (random.random(shape) >= hole_rate),
        "word_starts": random.random(shape) < word_rate,
        "num_tokens": num_tokens,
        "keys": derive_key(seed, np.arange(num_rows)),
    }


def mask(rows, num_predictions=20, rates=None):
    masked = mask_tokens(
        **{name: tf.constant(value) for name, value in rows.items()},
        num_predictions=num_predictions,
        mask_token_id=MASK_ID,
        replacement_ids=tf.constant(REPLACEMENTS),
        rates=rates or MaskingRates(),
    )
    return {name: value.numpy() for name, value in masked.items()}


def references(rows, num_predictions=20, rates=None):
    names = ("maskable", "word_starts", "num_tokens", "keys")
    columns = zip(*(rows[name] for name in names), strict=True)
    rates = rates or MaskingRates()
    return [Reference(*row, num_predictions, rates) for row in columns]


def chosen_of(masked):
    pairs = zip(masked["mask_positions"], masked["mask_weights"], strict=True)
    return [positions[weights > 0].tolist() for positions, weights in pairs]


@pytest.mark.parametrize(
    "rates",
    [
        MaskingRates(),
        MaskingRates(max_ngram=1),
        MaskingRates(max_ngram=5, masking_rate=0.4),
        MaskingRates(whole_word=False),
        MaskingRates(mask_token_rate=0.3, random_token_rate=0.5),
        MaskingRates(masking_rate=1.0),
    ],
)
@pytest.mark.parametrize("length", [3, 31, 128])
def test_masks_equal_the_plain_loop(rates, length):
    rows = random_rows(67, length, seed=length)

    masked = mask(rows, rates=rates)

    judges = references(rows, rates=rates)
    assert chosen_of(masked) == [judge.chosen for judge in judges]
    shown = [
        judge.shown(ids)
        for judge, ids in zip(judges, rows["token_ids"], strict=True)
    ]
    assert masked["token_ids"].tolist() == shown


@pytest.mark.parametrize("num_predictions", [1, 3, 200])
def test_the_width_of_predictions_bounds_the_budget(num_predictions):
    rows = random_rows(40, 61)

    masked = mask(rows, num_predictions)

    assert masked["mask_positions"].shape == (40, num_predictions)
    judges = references(rows, num_predictions)
    assert chosen_of(masked) == [judge.chosen for judge in judges]


def test_the_bits_equal_numpy_and_python():
    keys = derive_key(np.arange(5))

    drawn = masking._random_bits(tf.constant(keys), 2, 7).numpy()

    expected = [
        [bits(int(key), 2 * 7 + position) for position in range(7)]
        for key in keys
    ]
    assert drawn.tolist() == expected


def test_predictions_are_sorted_and_padded_with_zeros():
    masked = mask(random_rows(50, 64))
    real = masked["mask_weights"] > 0

    num_real = real.sum(axis=1)
    assert (real == (np.arange(20) < num_real[:, None])).all()
    assert (masked["mask_positions"][~real] == 0).all()
    assert (masked["mask_ids"][~real] == 0).all()
    rises = np.diff(masked["mask_positions"], axis=1) > 0
    assert rises[real[:, 1:]].all()
    assert set(np.unique(masked["mask_weights"])) == {0.0, 1.0}


def test_targets_are_the_tokens_that_were_hidden():
    rows = random_rows(50, 64)

    masked = mask(rows)

    there = np.take_along_axis(
        rows["token_ids"], masked["mask_positions"], axis=1
    )
    real = masked["mask_weights"] > 0
    assert (masked["mask_ids"] == there)[real].all()
    restored = masked["token_ids"].copy()
    row, place = np.nonzero(real)
    restored[row, masked["mask_positions"][row, place]] = there[row, place]
    assert (restored == rows["token_ids"]).all()


def test_what_may_not_be_masked_never_is():
    rows = random_rows(300, 64, hole_rate=0.3)

    masked = mask(rows, rates=MaskingRates(masking_rate=0.9))

    assert all(
        maskable[positions].all()
        for maskable, positions in zip(
            rows["maskable"], chosen_of(masked), strict=True
        )
    )


def test_words_are_masked_whole_and_the_budget_is_kept():
    rows = random_rows(200, 128, word_rate=0.4)

    judges = references(rows)
    chosen = chosen_of(mask(rows))

    for judge, positions in zip(judges, chosen, strict=True):
        touched = [set(w) for w in judge.words if set(w) & set(positions)]
        assert set().union(*touched) == set(positions)
        assert len(positions) <= judge.budget


@pytest.mark.parametrize(
    "num_tokens, expected",
    [(3, 1), (10, 2), (30, 4), (50, 8), (127, 19), (128, 19)],
)
def test_the_budget_is_rounded_as_in_googles_code(num_tokens, expected):
    # Python's round: 10 * 0.15 = 1.5 -> 2, 30 * 0.15 = 4.5 -> 4.
    rows = random_rows(1, 128, word_rate=1.0, hole_rate=0.0)
    rows["num_tokens"] = np.array([num_tokens], "int32")

    (positions,) = chosen_of(mask(rows))

    assert len(positions) == expected


def test_a_word_longer_than_the_budget_leaves_room_for_others():
    rows = random_rows(100, 20, hole_rate=0.0)
    rows["num_tokens"][:] = 20  # a budget of 3
    rows["maskable"][:] = True
    rows["word_starts"][:] = False
    rows["word_starts"][:, [0, 15, 17]] = True

    chosen = chosen_of(mask(rows))

    assert {tuple(c) for c in chosen} == {(15, 16), (17, 18, 19)}


def test_rows_without_text_have_no_predictions():
    rows = random_rows(4, 16)
    rows["maskable"][:] = False

    masked = mask(rows)

    assert masked["mask_weights"].sum() == 0
    assert (masked["token_ids"] == rows["token_ids"]).all()


def test_at_least_one_prediction_where_one_is_possible():
    rows = random_rows(500, 9, word_rate=1.0)

    chosen = chosen_of(mask(rows))

    assert [len(c) > 0 for c in chosen] == rows["maskable"].any(1).tolist()


@pytest.mark.parametrize(
    "mask_rate, random_rate, expected",
    [(1.0, 0.0, "mask"), (0.0, 1.0, "random"), (0.0, 0.0, "kept")],
)
def test_forced_rates_are_exact(mask_rate, random_rate, expected):
    rates = MaskingRates(
        mask_token_rate=mask_rate, random_token_rate=random_rate
    )

    masked = mask(random_rows(50, 64), rates=rates)

    shown = np.take_along_axis(
        masked["token_ids"], masked["mask_positions"], axis=1
    )
    real = masked["mask_weights"] > 0
    outcome = {
        "mask": shown == MASK_ID,
        "random": np.isin(shown, REPLACEMENTS),
        "kept": shown == masked["mask_ids"],
    }
    assert outcome[expected][real].all()


def test_a_masking_rate_of_zero_masks_nothing():
    masked = mask(random_rows(9, 64), rates=MaskingRates(masking_rate=0.0))

    assert masked["mask_weights"].sum() == 0


def test_a_masking_rate_of_one_masks_everything_that_may_be():
    rows = random_rows(9, 64)

    rates = MaskingRates(masking_rate=1.0)
    chosen = chosen_of(mask(rows, num_predictions=64, rates=rates))

    expected = [np.flatnonzero(row).tolist() for row in rows["maskable"]]
    assert chosen == expected


@pytest.fixture(scope="module")
def many():
    """Full rows of one-token words: `[CLS]` words `[SEP]` words `[SEP]`."""
    rows = random_rows(6000, 100, seed=9, word_rate=1.0, hole_rate=0.0)
    rows["num_tokens"][:] = 100
    rows["maskable"][:] = True
    rows["maskable"][:, [0, 40, 99]] = False
    return rows, mask(rows)


def test_15_percent_of_the_tokens_are_targets(many):
    _, masked = many

    assert (masked["mask_weights"].sum(axis=1) == 15).all()


def test_80_10_10_of_the_targets(many):
    _, masked = many

    shown = np.take_along_axis(
        masked["token_ids"], masked["mask_positions"], axis=1
    )
    real = masked["mask_weights"] > 0
    hidden = (shown == MASK_ID)[real].mean()
    drawn = np.isin(shown, REPLACEMENTS)[real].mean()
    np.testing.assert_allclose([hidden, drawn], [0.8, 0.1], atol=0.006)


def test_replacements_are_drawn_evenly(many):
    _, masked = many

    drawn = masked["token_ids"][np.isin(masked["token_ids"], REPLACEMENTS)]

    counts = np.bincount(drawn - 1000, minlength=500)
    expected = drawn.size / 500
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert abs(statistic - 499) < 5 * (2 * 499) ** 0.5


@pytest.mark.parametrize("max_ngram", [1, 2, 3, 4])
def test_span_lengths_follow_one_over_n(max_ngram):
    words = tf.ones((4000, 100), "bool")
    keys = tf.constant(derive_key(2, np.arange(4000)))

    starts = masking._span_starts(words, words, keys, max_ngram).numpy()

    # The first 15 spans of each row: none of them reaches the row's end.
    first = np.argsort(~starts, axis=1, kind="stable")[:, :16]
    share = np.bincount(np.diff(first, axis=1).ravel())[1:] / (4000 * 15)
    expected = 1 / np.arange(1, max_ngram + 1)
    np.testing.assert_allclose(share, expected / expected.sum(), atol=0.008)


def test_every_word_has_the_same_chance(many):
    rows, masked = many

    counts = np.bincount(np.concatenate(chosen_of(masked)), minlength=100)

    chance = counts[rows["maskable"][0]] / 6000
    # The first word of a segment is never cut off at the budget, which makes
    # it about 3 % more likely; nothing else may stand out.
    deviation = 4.5 * (0.155 * 0.845 / 6000) ** 0.5
    np.testing.assert_allclose(chance, 15 / 97, atol=deviation)


def test_a_row_does_not_depend_on_its_neighbours():
    rows = random_rows(30, 64)
    some = [29, 3, 17]

    alone = mask({name: value[some] for name, value in rows.items()})

    together = mask(rows)
    for name, value in alone.items():
        assert (value == together[name][some]).all()


def test_other_keys_give_other_masks():
    rows = random_rows(30, 64)
    before = chosen_of(mask(rows))

    rows["keys"] = derive_key(99, np.arange(30))

    assert (
        sum(a == b for a, b in zip(chosen_of(mask(rows)), before, strict=True))
        < 10
    )


def test_a_graph_of_unknown_batch_size_gives_the_same():
    rows = random_rows(21, 33)
    names = ("maskable", "word_starts", "num_tokens", "keys")
    signature = [
        tf.TensorSpec((None, *rows[n].shape[1:]), rows[n].dtype) for n in names
    ]

    @tf.function(input_signature=signature)
    def choose(*columns):
        return choose_masked_tokens(*columns, num_predictions=7)

    chosen = choose(*(tf.constant(rows[n]) for n in names)).numpy()

    judges = references(rows, num_predictions=7)
    assert [np.flatnonzero(row).tolist() for row in chosen] == [
        judge.chosen for judge in judges
    ]


def test_the_default_width_never_cuts_the_budget():
    widths = [default_num_predictions(n, 0.15) for n in range(8, 600)]

    assert all(
        width >= round(0.15 * n) for n, width in enumerate(widths, start=8)
    )
    assert default_num_predictions(512, 0.15) == 77


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"masking_rate": 1.2}, "masking_rate=1.2"),
        ({"mask_token_rate": -0.1}, "mask_token_rate=-0.1"),
        ({"random_token_rate": 0.3}, "0.8 and 0.3"),
        ({"max_ngram": 0}, "max_ngram.*Received: 0"),
    ],
)
def test_bad_rates_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MaskingRates(**arguments)
