"""Masked-LM targets: n-grams of whole words, chosen for a whole batch at once.

    tokens      [CLS] the  cat  sat  on  un ##der [SEP] …
    words               w1   w2   w3  w4  w5----         (whole, never special)
    spans               s1-----   s2  s3--------         (1 to 3 words each)
    random order        2nd       3rd 1st
    chosen                        ..  on  un ##der       (until the budget)

Shapes: B batch, S sequence, P predictions. Lengths are drawn independently
for every word; which of them begin a span depends on the spans before. That
chain has few states (how many words the current span still lacks), so it is
run for all positions in 2 log2(S) steps by composing its transitions.

Randomness is a hash of a key per row (`counter_random`), so that a row's masks
depend on nothing but its key and content.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_albert.data.graph_random import random_bits
from keras_albert.data.graph_random import uint64

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


def default_num_predictions(
    sequence_length: int, masking_rate: float = MaskingRates.masking_rate
) -> int:
    """Width of the prediction arrays that never cuts the budget.

    >>> default_num_predictions(128)
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
    chosen, order = _choose_in_order(
        maskable, word_starts, num_tokens, keys, num_predictions, rates
    )
    length = tf.shape(token_ids)[1]
    positions, real = _positions_of(chosen, order, num_predictions)  # (B, P)
    ids = _take(token_ids, positions)
    # Only at the positions that are predicted is anything drawn.
    fate = _uniform(keys, _FATE, length, positions)
    hidden = fate < rates.mask_token_rate
    replaced = fate < rates.mask_token_rate + rates.random_token_rate
    pick = _randint(
        keys, _REPLACEMENT, length, positions, tf.size(replacement_ids)
    )
    shown = tf.where(replaced, tf.gather(replacement_ids, pick), ids)
    shown = tf.where(hidden, tf.cast(mask_token_id, tf.int32), shown)
    return {
        "token_ids": _with_shown(token_ids, shown, ids, positions, real),
        "mask_positions": positions,
        "mask_ids": tf.where(real, ids, 0),
        "mask_weights": tf.cast(real, tf.float32),
    }


def _with_shown(token_ids, shown, ids, positions, real):
    """The token ids with what is shown at the positions that are real."""
    shown = tf.where(real, shown, ids)
    # What is not real repeats the first prediction; without any it writes
    # the first token over itself.
    places = tf.where(real, positions, positions[:, :1])
    shown = tf.where(real, shown, shown[:, :1])
    shape = tf.shape(token_ids)
    row = tf.range(shape[0])[:, None] * shape[1]
    changed = tf.tensor_scatter_nd_update(
        tf.reshape(token_ids, [-1]),
        tf.reshape(row + places, [-1, 1]),
        tf.reshape(shown, [-1]),
    )
    return tf.reshape(changed, shape)


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
    chosen, order = _choose_in_order(
        maskable, word_starts, num_tokens, keys, num_predictions, rates
    )
    return _scatter(chosen, order)


def _choose_in_order(
    maskable, word_starts, num_tokens, keys, num_predictions, rates
):
    """Which positions are chosen, in the random order, and that order."""
    share = tf.cast(num_tokens, tf.float64) * rates.masking_rate
    budget = tf.cast(tf.round(share), tf.int32)  # half to even, as in Python
    budget = tf.clip_by_value(budget, 1, num_predictions)[:, None]
    if rates.masking_rate == 0:
        budget = tf.zeros_like(budget)
    if not rates.whole_word:
        word_starts = tf.ones_like(word_starts)
    starts = maskable & (word_starts | ~_shifted(maskable))
    lengths, rest = _word_lengths(maskable, starts)  # (B, S)
    maskable &= lengths <= budget
    starts &= maskable
    span_starts = _span_starts(maskable, starts, keys, rates.max_ngram)
    order = _random_order(maskable, span_starts, keys)
    # From here on in that order; what may not be masked has come last.
    lengths, rest = _take(lengths, order), _take(rest, order)
    num_maskable = _count(maskable)
    maskable = tf.range(tf.shape(order)[1]) < num_maskable

    def take(candidates, room):
        before = tf.cumsum(
            tf.cast(candidates, tf.int32), axis=1, exclusive=True
        )
        return candidates & (before + rest <= room)

    chosen = take(maskable, budget)
    room = budget - _count(chosen)
    chosen |= take(maskable & ~chosen & (lengths <= room), room)
    return chosen, order


def _word_lengths(maskable, starts):
    """Length of each position's word, and how much of it is from there on.

    What may not be masked counts as a word of its own.
    """
    shape = tf.shape(starts)
    begins = starts | ~maskable | (tf.range(shape[1]) == 0)
    begins = tf.reshape(begins, [-1])
    place = tf.range(shape[0] * shape[1])
    first = tf.boolean_mask(place, begins)
    last = tf.concat([first[1:], [shape[0] * shape[1]]], axis=0)
    word = tf.cumsum(tf.cast(begins, tf.int32)) - 1
    lengths = tf.gather(last - first, word)
    rest = tf.gather(last, word) - place
    return tf.reshape(lengths, shape), tf.reshape(rest, shape)


def _span_starts(maskable, starts, keys, max_ngram):
    """Marks where spans begin, tiling each run of maskable words.

    State r means that the current span still lacks r words. A word start in
    state 0 begins a span of n words and leads to n - 1; in state r > 0 it
    leads to r - 1. Other tokens of a word keep the state, and whatever cannot
    be masked leads to 0. So each token is a function of the state. A tree
    composes them two by two, up to the whole row; then the state on arrival
    goes down it, from the row to its halves, and so on to the tokens.
    """
    length = starts.shape[1]  # static: it bounds the loops below
    span_length = _span_length(keys, length, max_ngram)  # (B, S)
    kind = tf.where(starts, span_length, max_ngram + 1)
    kind = tf.where(maskable, kind, 0)
    size = 1 << (length - 1).bit_length()
    kind = tf.pad(kind, [[0, 0], [0, size - length]])
    step = tf.gather(_transitions(max_ngram), tf.reshape(kind, [-1]))
    halves = []
    while size > 1:
        # Left and right half side by side: (B * number of pairs, 2 * states).
        halves.append(tf.reshape(step, [-1, 2 * max_ngram]))
        step = _right_after(halves[-1], halves[-1][:, :max_ngram])
        size //= 2
    state = tf.zeros_like(step[:, :1])  # (B, 1)
    for pair in reversed(halves):
        # The left half is a function of the state before; so is the right.
        after_left = _left_after(pair, state)
        state = tf.reshape(tf.concat([state, after_left], axis=1), [-1, 1])
    state = tf.reshape(state, [tf.shape(starts)[0], -1])
    return starts & (state[:, :length] == 0)


def _left_after(pairs, state):
    """The left functions at states: `(M, 2 N)` at `(M, K)`."""
    row = tf.range(tf.shape(pairs)[0])[:, None] * tf.shape(pairs)[1]
    return tf.gather(tf.reshape(pairs, [-1]), row + state)


def _right_after(pairs, state):
    return _left_after(pairs, state + pairs.shape[1] // 2)


def _transitions(max_ngram):
    """The functions of the state, by the kind of token.

    Kind 0 cannot be masked, kind n begins a span of n words if none is open,
    and kind max_ngram + 1 continues a word.
    """
    states = np.arange(max_ngram)
    table = np.zeros((max_ngram + 2, max_ngram), "int32")
    table[1:-1] = states - 1
    table[1:-1, 0] = states
    table[-1] = states
    return tf.constant(table)


def _span_length(keys, length, max_ngram):
    """Draws 1 to max_ngram words with probabilities proportional to 1/n."""
    weights = 1 / np.arange(1, max_ngram + 1)
    limits = np.cumsum(weights / weights.sum())[:-1].astype("float32")
    drawn = _uniform(keys, _LENGTH, length)
    span_length = tf.ones_like(drawn, tf.int32)
    for limit in limits:
        span_length += tf.cast(drawn >= limit, tf.int32)
    return span_length


def _random_order(maskable, span_starts, keys):
    """Positions with the spans in random order, and the rest after them."""
    length = tf.shape(maskable)[1]
    span = tf.cumsum(tf.cast(span_starts, tf.int32), axis=1)
    draw = tf.bitwise.right_shift(
        _random_bits(keys, _ORDER, length), uint64(64 - _ORDER_BITS)
    )
    span_order = _take(tf.cast(draw, tf.int64), tf.maximum(span - 1, 0))
    # `top_k` keeps equal values, such as those of one span, in sequence.
    last_first = tf.where(maskable, -span_order, tf.int64.min)
    return tf.math.top_k(last_first, k=length).indices  # (B, S)


def _positions_of(chosen, order, num_predictions):
    """Positions of the chosen tokens, ascending, and which are not filling."""
    length = tf.shape(chosen)[1]
    place = tf.where(chosen, length - order, 0)
    place, _ = tf.math.top_k(place, k=tf.minimum(num_predictions, length))
    missing = num_predictions - tf.shape(place)[1]
    place = tf.pad(place, [[0, 0], [0, tf.maximum(missing, 0)]])
    real = place > 0
    return tf.where(real, length - place, 0), real


def _take(values, indices):
    """Values `(B, S)` at indices `(B, P)` of the same row."""
    shape = tf.shape(values)
    row = tf.range(shape[0])[:, None] * shape[1]
    return tf.gather(tf.reshape(values, [-1]), row + indices)


def _scatter(values, indices):
    """The inverse of `_take` for indices that permute the row."""
    shape = tf.shape(values)
    row = tf.range(shape[0])[:, None] * shape[1]
    indices = tf.reshape(row + indices, [-1, 1])
    flat = tf.scatter_nd(
        indices, tf.reshape(values, [-1]), [shape[0] * shape[1]]
    )
    return tf.reshape(flat, shape)


def _count(mask):
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1, keepdims=True)


def _shifted(mask):
    """The mask one position to the right; nothing before the first."""
    return tf.pad(mask[:, :-1], [[0, 0], [1, 0]])


def _random_bits(keys, stream, length, positions=None):
    """Random bits for positions of each row, all of them if none are given.

    Args:
        keys: uint64 tensor of shape `(B,)`.
        stream: int.
        length: int, or int32 scalar. S.
        positions: int32 tensor of shape `(B, P)`.

    Returns:
        A uint64 tensor of shape `(B, S)` or `(B, P)`.
    """
    if positions is None:
        positions = tf.range(length)
    return random_bits(keys[:, None], stream * length + positions)


def _uniform(keys, stream, length, positions=None):
    """float32 numbers in [0, 1) with 24 random bits."""
    bits = _random_bits(keys, stream, length, positions)
    bits = tf.bitwise.right_shift(bits, uint64(64 - 24))
    return tf.cast(tf.cast(bits, tf.int32), tf.float32) * 2.0**-24


def _randint(keys, stream, length, positions, high):
    """int32 numbers in [0, high)."""
    bits = _random_bits(keys, stream, length, positions)
    bits = tf.bitwise.right_shift(bits, uint64(32)) * tf.cast(high, tf.uint64)
    return tf.cast(tf.bitwise.right_shift(bits, uint64(32)), tf.int32)
