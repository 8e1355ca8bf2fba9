"""From chunks to pairs of segments, as TensorFlow ops on a batch of records.

    chunk: sentences     |s0 |s1|  s2 |s3|
    two segments of it   |  A   |    B   |      (split)
    or the other way     |    A   |  B   |      (swap)
    the longer trimmed   |    A |  B   |        (trim)

The same law as in `segment_pairs`, with a key per record as the only source of
randomness. Shapes: B batch.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_albert.data.graph_random import coin_flips
from keras_albert.data.graph_random import randint
from keras_albert.data.graph_random import random_bits
from keras_albert.data.graph_random import uniform

# Each kind of choice has a stream of its own.
SPLIT, SWAP, OTHER, OTHER_START, TRIM_FIRST, TRIM_SECOND = range(6)


@dataclasses.dataclass(frozen=True, eq=False)
class ChunkBatch:
    """Parsed records.

    Args:
        token_ids: int32 tensor of shape `(num_tokens,)`, chunk after chunk.
        token_start: int32 tensor of shape `(B,)`. Where in it each chunk
            begins.
        word_start_bytes: int32 tensor of shape `(B, num_bytes)`. Bit i of
            byte j (the lowest is 0) says whether token 8 j + i of the chunk
            starts a word.
        sentence_borders: int32 tensor of shape `(num_sentences + 1,)`. Where
            in `token_ids` each sentence begins, and their end.
        first_sentence: int32 tensor of shape `(B + 1,)`. Which sentence is
            the first of each chunk, and their number.
    """

    token_ids: tf.Tensor
    token_start: tf.Tensor
    word_start_bytes: tf.Tensor
    sentence_borders: tf.Tensor
    first_sentence: tf.Tensor

    @property
    def num_sentences(self):
        """int32 tensor of shape `(B,)`."""
        return self.first_sentence[1:] - self.first_sentence[:-1]

    @property
    def num_tokens(self):
        """int32 tensor of shape `(B,)`."""
        ends = tf.gather(self.sentence_borders, self.first_sentence[1:])
        return ends - self.token_start

    def sentence_start(self, sentence):
        """Tokens of each chunk before one of its sentences, `(B,)`."""
        number = self.first_sentence[:-1] + sentence
        return tf.gather(self.sentence_borders, number) - self.token_start


def parse_chunks(records, max_chunk_tokens):
    """Parses records of `keras_albert.data.shards`.

    Args:
        records: string tensor of shape `(B,)`. An empty string is an empty
            chunk.
        max_chunk_tokens: int. No chunk has more tokens.

    Returns:
        A `ChunkBatch`.
    """
    int32 = tf.int32
    ragged = {
        name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=int32)
        for name in ("token_ids", "sentence_lengths")
    }
    starts = tf.io.FixedLenFeature([], tf.string, default_value="")
    parsed = tf.io.parse_example(records, {**ragged, "word_starts": starts})
    lengths = tf.cast(parsed["sentence_lengths"].values, int32)
    bits = tf.io.decode_raw(
        parsed["word_starts"],
        tf.uint8,
        fixed_length=-(-max_chunk_tokens // 8),
    )
    return ChunkBatch(
        token_ids=tf.cast(parsed["token_ids"].values, int32),
        token_start=parsed["token_ids"].row_splits[:-1],
        word_start_bytes=tf.cast(bits, int32),
        sentence_borders=tf.concat([[0], tf.cumsum(lengths)], axis=0),
        first_sentence=parsed["sentence_lengths"].row_splits,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Segments:
    """The two segments of each example, as parts of chunks.

    Args:
        first: `Segment`. A.
        second: `Segment`. B; its length is 0 for an example of one segment.
        sentence_order: int32 tensor of shape `(B,)`.
        sentence_order_weight: float32 tensor of shape `(B,)`.
    """

    first: "Segment"
    second: "Segment"
    sentence_order: tf.Tensor
    sentence_order_weight: tf.Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class Segment:
    """A part of a chunk: int32 tensors of shape `(B,)`.

    Args:
        chunk: which chunk of the `ChunkBatch`.
        start: its first token, counted in the chunk.
        length: its number of tokens.
    """

    chunk: tf.Tensor
    start: tf.Tensor
    length: tf.Tensor


def single_segments(chunks, keys, *, max_tokens, max_chunk_tokens):
    """Makes examples of one segment, the whole chunk.

    Args:
        chunks: `ChunkBatch` of B chunks.
        keys: uint64 tensor of shape `(B,)`.
        max_tokens: int. What is longer is trimmed.
        max_chunk_tokens: int. No chunk has more tokens.

    Returns:
        `Segments`.
    """
    rows = tf.range(tf.shape(keys)[0])
    nothing = tf.zeros_like(rows)
    return _trimmed(
        Segment(rows, nothing, chunks.num_tokens),
        Segment(rows, nothing, nothing),
        nothing,
        tf.zeros_like(rows, tf.bool),
        keys,
        max_tokens,
        max_chunk_tokens,
    )


def segment_pairs(
    chunks,
    keys,
    has_other=None,
    *,
    max_tokens,
    max_chunk_tokens,
    swap_probability,
):
    """Splits each chunk into two segments, and swaps them or not.

    The split is at a random sentence border; in a chunk of one sentence at a
    random word start inside it. A chunk that is a single word has no pair.

    Args:
        chunks: `ChunkBatch` of B chunks. With `has_other` of 2 B: the second
            half are chunks of other documents.
        keys: uint64 tensor of shape `(B,)`.
        has_other: bool tensor of shape `(B,)`, for next-sentence prediction:
            which rows have a chunk of another document. Label 1 then means
            that the second segment comes from there, from a random sentence
            to the chunk's end. Defaults to `None`: label 1 means swapped.
        max_tokens: int. The most tokens of a pair.
        max_chunk_tokens: int. No chunk has more tokens.
        swap_probability: float. Share of pairs with label 1.

    Returns:
        `Segments`.
    """
    num_rows = tf.shape(keys)[0]
    rows = tf.range(num_rows)
    stop = chunks.num_tokens[:num_rows]
    split = _split(chunks, keys, num_rows, stop)
    paired = split < stop
    label = uniform(random_bits(keys, SWAP)) < swap_probability
    label &= paired
    front = Segment(rows, tf.zeros_like(rows), split)
    back = Segment(rows, split, stop - split)
    if has_other is None:
        first, second = _choose(label, back, front), _choose(label, front, back)
    else:
        label &= has_other
        other = _other_segments(chunks, keys, num_rows)
        first, second = front, _choose(label, other, back)
    return _trimmed(
        first,
        second,
        tf.cast(label, tf.int32),
        paired,
        keys,
        max_tokens,
        max_chunk_tokens,
    )


def _choose(condition, when_true, when_false):
    columns = zip(
        (when_true.chunk, when_true.start, when_true.length),
        (when_false.chunk, when_false.start, when_false.length),
        strict=True,
    )
    return Segment(*(tf.where(condition, *pair) for pair in columns))


def _split(chunks, keys, num_rows, stop):
    """Tokens before the second segment; `stop` if there is none."""
    bits = random_bits(keys, SPLIT)
    num_sentences = chunks.num_sentences[:num_rows]
    border = randint(bits, 1, tf.maximum(num_sentences, 2))
    border = tf.minimum(border, num_sentences)
    start = chunks.first_sentence[:-1][:num_rows] + border
    at_border = tf.gather(chunks.sentence_borders, start)
    at_border -= chunks.token_start[:num_rows]
    inside = _inner_word_start(chunks.word_start_bytes[:num_rows], bits, stop)
    return tf.where(num_sentences > 1, at_border, inside)


def _inner_word_start(word_start_bytes, bits, stop):
    """A random word start after the first token; `stop` if there is none."""
    keep = np.full(word_start_bytes.shape[1], 255)
    keep[0] = 254  # all but the first token
    inner = tf.bitwise.bitwise_and(word_start_bytes, tf.constant(keep, "int32"))
    in_byte = tf.gather(_BITS_OF_BYTE, inner)  # (B, num_bytes)
    upto = tf.cumsum(in_byte, axis=1)
    number = upto[:, -1]
    pick = randint(bits, 0, tf.maximum(number, 1))[:, None]
    # The byte that holds the word start of that number, and the rest of it.
    byte = tf.reduce_sum(tf.cast(upto <= pick, tf.int32), axis=1)
    byte = tf.minimum(byte, word_start_bytes.shape[1] - 1)
    here = tf.one_hot(byte, word_start_bytes.shape[1], dtype=tf.int32)
    rest = pick[:, 0] - tf.reduce_sum(here * (upto - in_byte), axis=1)
    value = tf.reduce_sum(here * inner, axis=1)
    bit = tf.gather_nd(
        _NTH_BIT_OF_BYTE, tf.stack([value, tf.clip_by_value(rest, 0, 7)], 1)
    )
    return tf.where(number > 0, 8 * byte + bit, stop)


def _byte_tables():
    """How many bits each byte has, and where its n-th one is."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    nth = np.argsort(1 - bits, axis=1, kind="stable")
    return bits.sum(1).astype("int32"), nth.astype("int32")


_BITS_OF_BYTE, _NTH_BIT_OF_BYTE = _byte_tables()


def _other_segments(chunks, keys, num_rows):
    """From a random sentence of the other chunk to its end."""
    rows = num_rows + tf.range(num_rows)
    num_sentences = chunks.num_sentences[num_rows:]
    bits = random_bits(keys, OTHER_START)
    sentence = randint(bits, 0, tf.maximum(num_sentences, 1))
    number = chunks.first_sentence[:-1][num_rows:] + sentence
    start = tf.gather(chunks.sentence_borders, number)
    start -= chunks.token_start[num_rows:]
    return Segment(rows, start, chunks.num_tokens[num_rows:] - start)


def _trimmed(first, second, label, paired, keys, max_tokens, max_chunk_tokens):
    """Trims the longer segment until the pair fits.

    One token after the other would be taken off the longer segment, from the
    front or the back by the toss of a coin; here the end of that process is
    computed.
    """
    shorter = tf.minimum(first.length, second.length)
    fits = first.length + second.length <= max_tokens
    one_is_short = 2 * shorter <= max_tokens
    halves = ((max_tokens + 1) // 2, max_tokens // 2)
    trimmed = []
    for segment, half, stream in zip(
        (first, second), halves, (TRIM_FIRST, TRIM_SECOND), strict=True
    ):
        rest = tf.where(
            segment.length == shorter, shorter, max_tokens - shorter
        )
        kept = tf.where(one_is_short, rest, half)
        kept = tf.where(fits, segment.length, kept)
        removed = segment.length - kept
        from_front = coin_flips(
            random_bits(keys, stream), removed, max_chunk_tokens
        )
        trimmed.append(Segment(segment.chunk, segment.start + from_front, kept))
    return Segments(
        *trimmed,
        sentence_order=label,
        sentence_order_weight=tf.cast(paired, tf.float32),
    )
