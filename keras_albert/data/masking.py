"""Masked-LM targets: n-grams of whole words, chosen for a whole batch at once.

    tokens      [CLS] the  cat  sat  on  un ##der [SEP] …
    words               w1   w2   w3  w4  w5----         (whole, never special)
    spans               s1-----   s2  s3--------         (1 to 3 words each)
    random order        2nd       3rd 1st
    chosen                        ..  on  un ##der       (until the budget)

Shapes: B batch, S sequence, P predictions. Lengths are drawn independently
for every word; which of them begin a span depends on the spans before. That
chain has few states (how many words the current span still lacks), so it is
run for all positions in log2(S) steps by composing its transitions.

Randomness is a hash of a key per row (`counter_random`), so that a row's masks
depend on nothing but its key and content.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_albert.data import counter_random

# Each kind of choice has a stream of its own: `stream * S + position`.
_LENGTH, _ORDER, _FATE, _REPLACEMENT = range(4)
_ORDER_BITS = 46


@dataclasses.dataclass(frozen=True)
class MaskingRates:
    """How many tokens are predicted, and what the model sees in their place.

    Args:
        masking_rate: float. Share of the tokens, special ones included, that
            are predicted. Defaults to `0.15`.
        mask_token_rate: float. Share of the predicted tokens that become
            `[MASK]`. Defaults to `0.8`.
        random_token_rate: float. Share of the predicted tokens that become a
            random one; the rest stay as they are. Defaults to `0.1`.
        max_ngram: int. Longest span in words; a span of n words is drawn with
            a probability proportional to 1/n. Defaults to `3`.
        whole_word: bool. Whether words are masked whole. If not, spans count
            tokens. Defaults to `True`.

    Reference:
        [Lan et al., 2020](https://arxiv.org/abs/1909.11942), section 4.1.
    """

    masking_rate: float = 0.15
    mask_token_rate: float = 0.8
    random_token_rate: float = 0.1
    max_ngram: int = 3
    whole_word: bool = True

    def __post_init__(self):
        for name in ("masking_rate", "mask_token_rate", "random_token_rate"):
            rate = getattr(self, name)
            if not 0 <= rate <= 1:
                raise ValueError(
                    f"`{name}` must lie in [0, 1]. Received: {name}={rate}."
                )
        if self.mask_token_rate + self.random_token_rate > 1 + 1e-9:
            raise ValueError(
                "`mask_token_rate` and `random_token_rate` must not exceed 1 "
                f"together. Received: {self.mask_token_rate} and "
                f"{self.random_token_rate}."
            )
        if self.max_ngram < 1:
            raise ValueError(
                f"`max_ngram` must be at least 1. Received: {self.max_ngram}."
            )


def default_num_predictions(sequence_length: int, masking_rate: float) -> int:
    """Width of the prediction arrays that never cuts the budget.

    >>> default_num_predictions(128, 0.15)
    20
    """
    return max(1, int(np.ceil(sequence_length * masking_rate)))


def mask_tokens(
    token_ids,
    maskable,
    word_starts,
    num_tokens,
    keys,
    *,
    num_predictions,
    mask_token_id,
    replacement_ids,
    rates=MaskingRates(),  # noqa: B008
):
    """Chooses the tokens to predict and hides them.

    Args:
        token_ids: int32 tensor of shape `(B, S)`.
        maskable: bool tensor of shape `(B, S)`. False for special tokens and
            padding, which also end words and spans.
        word_starts: bool tensor of shape `(B, S)`.
        num_tokens: int32 tensor of shape `(B,)`. Tokens that are not padding.
        keys: uint64 tensor of shape `(B,)`. The source of randomness.
        num_predictions: int. P, the width of the prediction arrays.
        mask_token_id: int.
        replacement_ids: int32 tensor of shape `(R,)`. Ids that may replace a
            token at random.
        rates: `MaskingRates`.

    Returns:
        A dict of `token_ids` of shape `(B, S)` int32, which the model sees,
        and `mask_positions` int32, `mask_ids` int32 and `mask_weights`
        float32 of shape `(B, P)`: positions in ascending order, then zeros.

    Reference:
        `create_masked_lm_predictions` in Google's ALBERT code. It differs
        there that spans are enumerated from every word and rejected when they
        overlap, which makes short spans too frequent; here they tile the
        text, so that their lengths follow 1/n exactly.
    """
    chosen = choose_masked_tokens(
        maskable,
        word_starts,
        num_tokens,
        keys,
        num_predictions=num_predictions,
        rates=rates,
    )
    length = tf.shape(token_ids)[1]
    fate = _uniform(keys, _FATE, length)
    hidden = fate < rates.mask_token_rate
    replaced = fate < rates.mask_token_rate + rates.random_token_rate
    pick = _randint(keys, _REPLACEMENT, length, tf.size(replacement_ids))
    shown = tf.where(replaced, tf.gather(replacement_ids, pick), token_ids)
    shown = tf.where(hidden, tf.cast(mask_token_id, tf.int32), shown)
    positions, weights = _positions_of(chosen, num_predictions)
    ids = tf.gather(token_ids, positions, batch_dims=1)  # (B, P)
    return {
        "token_ids": tf.where(chosen, shown, token_ids),
        "mask_positions": positions,
        "mask_ids": ids * tf.cast(weights, tf.int32),
        "mask_weights": weights,
    }


def choose_masked_tokens(
    maskable,
    word_starts,
    num_tokens,
    keys,
    *,
    num_predictions,
    rates=MaskingRates(),  # noqa: B008
):
    """Chooses whole spans in random order until the budget is reached.

    The budget is `rates.masking_rate` of the row's tokens, at least 1 and at
    most `num_predictions`. The span that would cross it is cut to the words
    that fit, and words that fit into the rest are taken in the same order. A
    word longer than the budget is never chosen.

    Args:
        maskable: bool tensor of shape `(B, S)`.
        word_starts: bool tensor of shape `(B, S)`.
        num_tokens: int32 tensor of shape `(B,)`.
        keys: uint64 tensor of shape `(B,)`.
        num_predictions: int.
        rates: `MaskingRates`.

    Returns:
        A bool tensor of shape `(B, S)`.
    """
    share = tf.cast(num_tokens, tf.float64) * rates.masking_rate
    budget = tf.cast(tf.round(share), tf.int32)  # half to even, as in Python
    budget = tf.clip_by_value(budget, 1, num_predictions)[:, None]
    if rates.masking_rate == 0:
        budget = tf.zeros_like(budget)
    if not rates.whole_word:
        word_starts = tf.ones_like(word_starts)
    starts = maskable & (word_starts | ~_shifted(maskable))
    lengths, offsets = _word_lengths(maskable, starts)  # (B, S)
    maskable &= lengths <= budget
    starts &= maskable
    span_starts = _span_starts(maskable, starts, keys, rates.max_ngram)
    order = _random_order(maskable, span_starts, keys)
    rest_of_word = lengths - offsets

    def take(candidates, room):
        return candidates & (_rank(candidates, order) + rest_of_word <= room)

    chosen = take(maskable, budget)
    room = budget - tf.reduce_sum(
        tf.cast(chosen, tf.int32), axis=1, keepdims=True
    )
    return chosen | take(maskable & ~chosen & (lengths <= room), room)


def _word_lengths(maskable, starts):
    """Length of each position's word, and the position's place in it."""
    length = tf.shape(starts)[1]
    rows = tf.range(tf.shape(starts)[0])[:, None]
    word = tf.cumsum(tf.cast(starts, tf.int32), axis=1) + rows * (length + 1)
    num_words = tf.shape(starts)[0] * (length + 1)
    lengths = tf.math.unsorted_segment_sum(
        tf.cast(maskable, tf.int32), word, num_words
    )
    place = tf.broadcast_to(tf.range(length), tf.shape(starts))
    first = tf.math.unsorted_segment_sum(
        tf.where(starts, place, 0), word, num_words
    )
    return tf.gather(lengths, word), place - tf.gather(first, word)


def _span_starts(maskable, starts, keys, max_ngram):
    """Marks where spans begin, tiling each run of maskable words.

    State r means that the current span still lacks r words. A word start in
    state 0 begins a span of n words and leads to n - 1; in state r > 0 it
    leads to r - 1. Other tokens of a word keep the state, and whatever cannot
    be masked leads to 0. Transitions are composed over distances 1, 2, 4, ….
    """
    length = starts.shape[1]  # static: it bounds the loop below
    span_length = _span_length(keys, length, max_ngram)  # (B, S)
    state = tf.range(max_ngram)
    begun = tf.concat(  # (B, S, max_ngram)
        [
            span_length[..., None] - 1,
            tf.broadcast_to(
                state[:-1],
                tf.concat([tf.shape(starts), [max_ngram - 1]], axis=0),
            ),
        ],
        axis=-1,
    )
    step = tf.where(starts[..., None], begun, state)
    step = tf.where(maskable[..., None], step, 0)
    distance = 1
    while distance < length:
        earlier = tf.pad(step[:, :-distance], [[0, 0], [distance, 0], [0, 0]])
        identity = tf.range(length)[:, None] < distance
        earlier = tf.where(identity, state, earlier)
        step = tf.gather(step, earlier, batch_dims=2)
        distance *= 2
    before = tf.pad(step[:, :-1, 0], [[0, 0], [1, 0]])  # state on arrival
    return starts & (before == 0)


def _span_length(keys, length, max_ngram):
    """Draws 1 to max_ngram words with probabilities proportional to 1/n."""
    weights = 1 / np.arange(1, max_ngram + 1)
    limits = np.cumsum(weights / weights.sum())[:-1].astype("float32")
    drawn = _uniform(keys, _LENGTH, length)
    above = drawn[..., None] >= tf.constant(limits)
    return 1 + tf.reduce_sum(tf.cast(above, tf.int32), axis=-1)


def _random_order(maskable, span_starts, keys):
    """Positions with the spans in random order, and the way back."""
    length = tf.shape(maskable)[1]
    span = tf.cumsum(tf.cast(span_starts, tf.int32), axis=1)
    draw = tf.bitwise.right_shift(
        _random_bits(keys, _ORDER, length), _uint64(64 - _ORDER_BITS)
    )
    span_order = tf.gather(
        tf.cast(draw, tf.int64), tf.maximum(span - 1, 0), batch_dims=1
    )
    # The position in the low bits keeps a span's tokens in sequence.
    place = tf.range(tf.cast(length, tf.int64))
    sort_key = span_order * tf.cast(length, tf.int64) + place
    order = tf.argsort(
        tf.where(maskable, sort_key, tf.int64.max), axis=1
    )  # (B, S)
    rows = tf.broadcast_to(
        tf.range(tf.shape(order)[0])[:, None], tf.shape(order)
    )
    places = tf.broadcast_to(tf.range(length), tf.shape(order))
    inverse = tf.scatter_nd(
        tf.stack([rows, order], axis=-1), places, tf.shape(order)
    )
    return order, inverse


def _rank(candidates, order):
    """How many candidates come before each position in the given order."""
    order, inverse = order
    ordered = tf.gather(tf.cast(candidates, tf.int32), order, batch_dims=1)
    before = tf.cumsum(ordered, axis=1, exclusive=True)
    return tf.gather(before, inverse, batch_dims=1)


def _positions_of(chosen, num_predictions):
    """Positions of the chosen tokens in ascending order, padded with 0."""
    length = tf.shape(chosen)[1]
    place = tf.where(chosen, tf.range(length), length)
    place = tf.sort(place, axis=1)[:, :num_predictions]
    missing = num_predictions - tf.shape(place)[1]
    place = tf.pad(
        place, [[0, 0], [0, tf.maximum(missing, 0)]], constant_values=length
    )
    real = place < length
    return tf.where(real, place, 0), tf.cast(real, tf.float32)


def _shifted(mask):
    """The mask one position to the right; nothing before the first."""
    return tf.pad(mask[:, :-1], [[0, 0], [1, 0]])


def _random_bits(keys, stream, length):
    """`counter_random.random_bits` for a row of positions, (B, S) uint64."""
    counter = tf.range(tf.cast(length, tf.int64)) + 1
    counter += stream * tf.cast(length, tf.int64)
    gamma = _uint64(counter_random.GOLDEN_GAMMA)
    values = keys[:, None] + tf.cast(counter, tf.uint64) * gamma
    for shift, multiplier in zip(
        counter_random.SHIFTS, (*counter_random.MULTIPLIERS, 1), strict=True
    ):
        shifted = tf.bitwise.right_shift(values, _uint64(shift))
        values = tf.bitwise.bitwise_xor(values, shifted) * _uint64(multiplier)
    return values


def _uniform(keys, stream, length):
    """float32 numbers in [0, 1) with 24 random bits, (B, S)."""
    bits = _random_bits(keys, stream, length)
    bits = tf.bitwise.right_shift(bits, _uint64(64 - 24))
    return tf.cast(tf.cast(bits, tf.int64), tf.float32) * 2.0**-24


def _randint(keys, stream, length, high):
    """int32 numbers in [0, high), (B, S)."""
    bits = tf.bitwise.right_shift(
        _random_bits(keys, stream, length), _uint64(32)
    )
    scaled = tf.cast(bits, tf.int64) * tf.cast(high, tf.int64)
    return tf.cast(scaled // 2**32, tf.int32)


def _uint64(value):
    return tf.constant(value, tf.uint64)
