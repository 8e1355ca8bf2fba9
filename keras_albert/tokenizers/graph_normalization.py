"""Text normalisation as TensorFlow graph operations.

The tables come from Python's own Unicode data instead of the ICU that happens
to be linked, so that one exported model answers the same on every server, and
the same as Python. Read `graph_normalizer` first.
"""

import functools
import itertools
import unicodedata

from keras_albert.tokenizers.normalization import changeable_characters
from keras_albert.tokenizers.normalization import character_ranges

SIGMA = "Σ"
FINAL_SIGMA = "ς"
FIRST_HANGUL, NUM_HANGUL = 0xAC00, 11172


@functools.cache
def graph_normalizer(
    lowercase=True,
    strip_accents=True,
    collapse_whitespace=True,
    unify_quotes=False,
):
    """Makes `normalize_text` as a function of a TensorFlow string tensor.

    Args:
        lowercase: bool. As in `normalize_text`. Defaults to `True`.
        strip_accents: bool. As in `normalize_text`. Defaults to `True`.
        collapse_whitespace: bool. As in `normalize_text`. Defaults to `True`.
        unify_quotes: bool. As in `normalize_text`. Defaults to `False`.

    Returns:
        A function from a string tensor of shape `(batch_size,)` to one of the
        same shape. It uses core TensorFlow operations only.
    """

    def replacement(character):
        if strip_accents:
            character = unicodedata.normalize("NFKD", character)
            character = "".join(
                itertools.filterfalse(unicodedata.combining, character)
            )
        # The form of a sigma depends on its neighbours, so it waits.
        return lower_except_sigma(character) if lowercase else character

    table = character_table(replacement)

    def normalize(text):
        text = replace_invalid_utf8(text)
        if unify_quotes:
            text = unify_quotes_graph(text)
        if collapse_whitespace:
            text = collapse_whitespace_graph(text)
        text = map_characters(text, table, decompose_hangul=strip_accents)
        return lower_sigma(text) if lowercase else text

    return normalize


def lower_except_sigma(text):
    """Lower-cases every character alone, and leaves a capital sigma."""
    return "".join(c if c == SIGMA else c.lower() for c in text)


def character_class(accept):
    """Writes the characters that `accept` picks as an RE2 class.

    Only characters that some step may change are asked about.

    >>> character_class(lambda c: c in "abcz")
    '[\\\\x{61}-\\\\x{63}\\\\x{7A}]'
    """
    parts = (
        f"\\x{{{a:X}}}" if a == b else f"\\x{{{a:X}}}-\\x{{{b:X}}}"
        for a, b in character_ranges(accept)
    )
    return f"[{''.join(parts)}]"


def character_table(replacement):
    """Lists the characters that `replacement` changes, as flat arrays.

    Args:
        replacement: function from a character to the string that takes its
            place.

    Returns:
        `(codes, splits, values)`: the sorted code points that change; the
        new code points of `codes[i]` are `values[splits[i]:splits[i + 1]]`.
        Hangul syllables are left out: there is a formula for them.
    """
    import numpy as np

    codes, splits, values = [], [0], []
    for character in changeable_characters():
        code, new = ord(character), replacement(character)
        is_hangul = 0 <= code - FIRST_HANGUL < NUM_HANGUL
        if new != character and not is_hangul:
            codes.append(code)
            values.extend(map(ord, new))
            splits.append(len(values))
    return tuple(np.array(a, "int32") for a in (codes, splits, values))


def replace_invalid_utf8(text):
    """Puts U+FFFD for what is not UTF-8, as Python's decoder does."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(
        text, "UTF-8", "UTF-8", errors="replace", replacement_char=0xFFFD
    )


def collapse_whitespace_graph(text):
    """Does `" ".join(text.split())` on a string tensor."""
    import tensorflow as tf

    text = tf.strings.regex_replace(text, f"{_whitespace_class()}+", " ")
    return tf.strings.regex_replace(text, "^ | $", "")


def unify_quotes_graph(text):
    """Writes quotes of two backticks or two apostrophes as one mark."""
    import tensorflow as tf

    text = tf.strings.regex_replace(text, "``", '"')
    return tf.strings.regex_replace(text, "''", '"')


def map_characters(text, table, decompose_hangul):
    """Replaces characters by a table of `character_table`.

    Args:
        text: string tensor of shape `(batch_size,)`, valid UTF-8.
        table: the three arrays of `character_table`.
        decompose_hangul: bool. Whether Hangul syllables become letters.

    Returns:
        String tensor of shape `(batch_size,)`.
    """
    import tensorflow as tf

    characters = tf.strings.unicode_decode(text, "UTF-8")
    flat, splits = replace_by_table(
        characters.flat_values, characters.row_splits, table
    )
    characters = tf.RaggedTensor.from_row_splits(flat, splits, validate=False)
    if decompose_hangul:
        characters = _decompose_hangul(characters)
    return tf.strings.unicode_encode(characters, "UTF-8")


def _decompose_hangul(characters):
    """Writes syllables as two or three letters, by Unicode's formula."""
    import tensorflow as tf

    flat = characters.flat_values
    index = flat - FIRST_HANGUL
    is_hangul = (index >= 0) & (index < NUM_HANGUL)
    lead, vowel, tail = index // 588, index % 588 // 28, index % 28
    letters = tf.stack([0x1100 + lead, 0x1161 + vowel, 0x11A7 + tail], 1)
    lengths = tf.where(is_hangul, 2 + tf.cast(tail > 0, "int32"), 1)
    letters = tf.where(is_hangul[:, None], letters, flat[:, None])
    rows = tf.RaggedTensor.from_tensor(letters, lengths=lengths)
    return characters.with_flat_values(rows).merge_dims(1, 2)


def replace_by_table(flat, row_splits, table):
    """Replaces each integer that a table lists by its row of integers.

    Args:
        flat: int32 tensor of shape `(num_values,)`.
        row_splits: int64 tensor of shape `(batch_size + 1,)`.
        table: `(codes, splits, values)` as of `character_table`.

    Returns:
        `(flat, row_splits)` after the replacement.
    """
    import tensorflow as tf

    if not len(table[0]):
        return flat, row_splits
    codes, splits, values = map(tf.constant, table)
    count = tf.shape(flat)[0]
    row = tf.searchsorted(codes, flat)
    row = tf.minimum(row, tf.size(codes) - 1)
    listed = tf.equal(tf.gather(codes, row), flat)
    # Both sources in one row: unchanged integers first, then the table's.
    source = tf.concat([flat, values], 0)
    first, last = tf.gather(splits, row), tf.gather(splits, row + 1)
    starts = tf.where(listed, count + first, tf.range(count))
    lengths = tf.where(listed, last - first, 1)
    taken = tf.ragged.range(starts, starts + lengths).flat_values
    ends = tf.concat([[0], tf.cumsum(lengths)], 0)
    new_splits = tf.cast(tf.gather(ends, row_splits), tf.int64)
    return tf.gather(source, taken), new_splits


def lower_sigma(text):
    """Lower-cases the capital sigmas: to the final form at a word's end.

    A sigma is final when a cased letter stands before it and none after it,
    with case-ignorable characters between them not counting.
    """
    import tensorflow as tf

    cased, ignorable = sigma_context()
    pattern = (
        f"({cased}{ignorable}*){SIGMA}({ignorable}*)"
        f"([^{cased[1:-1]}{ignorable[1:-1]}]|$)"
    )
    text = tf.strings.regex_replace(text, pattern, rf"\1{FINAL_SIGMA}\2\3")
    return tf.strings.regex_replace(text, SIGMA, SIGMA.lower())


@functools.cache
def sigma_context():
    """Returns the RE2 classes of cased and of case-ignorable characters.

    Python does not name these properties, so they are read off what its
    `lower` makes of a sigma beside each character.
    """

    def is_cased(character):
        return (character + SIGMA).lower().endswith(FINAL_SIGMA)

    def is_ignorable(character):
        text = ("A" + character + SIGMA).lower()
        return text.endswith(FINAL_SIGMA) and not is_cased(character)

    return character_class(is_cased), character_class(is_ignorable)


@functools.cache
def _whitespace_class():
    return character_class(str.isspace)
