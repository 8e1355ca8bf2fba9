"""What the encoders of both kinds of vocabulary have in common.

An encoder is the part of a tokenizer that turns texts into ids in plain
Python. It needs neither Keras nor TensorFlow, so that a worker process has
one within a fraction of a second, in little memory.
"""

import functools
import hashlib
import json
import re
from itertools import chain
from itertools import pairwise

import numpy as np

from keras_albert.tokenizers.normalization import clean_unicode

SPECIAL_TOKEN_NAMES = ("pad", "unk", "cls", "sep", "mask")


class EncoderBase:
    """Turns texts into ids; one object per vocabulary and set of options.

    A subclass gives `_encode_plain(list of str)` and `_is_special(token_id)`,
    the class attributes below, and `word_starts`.

    Args:
        pieces: list of strings. The vocabulary, in the order of the ids.
        vocabulary: bytes. What the pieces were read from.
        options: dict. Options that differ from `default_options`.

    Attributes:
        class_name: string. The tokenizer's class, which the fingerprint names.
        special_tokens: the pieces for padding, unknown text, `[CLS]`,
            `[SEP]` and `[MASK]`.
        default_options: dict of the options that decide the ids.
        later_options: names of options that came later. At their default
            they do not count in the fingerprint, which stays what it was.
        pad_token_id: int, and likewise `unk_token_id`, `cls_token_id`,
            `sep_token_id` and `mask_token_id`.
    """

    class_name = ""
    special_tokens = ()
    default_options = {}
    later_options = ()

    def __init__(self, pieces, vocabulary, options):
        self.options = complete_options(
            self.class_name, self.default_options, options
        )
        self._pieces = pieces
        self._vocabulary = vocabulary
        ids = find_special_ids(pieces, self.special_tokens, self.class_name)
        self.special_ids = dict(zip(SPECIAL_TOKEN_NAMES, ids, strict=True))
        for name, token_id in self.special_ids.items():
            setattr(self, f"{name}_token_id", token_id)

    def config(self):
        """What another process needs to make the same encoder.

        Returns:
            A dict with the strings and bools of the options, and the
            vocabulary as bytes; see `encoder_from_config`.
        """
        return {
            "class_name": self.class_name,
            "options": dict(self.options),
            "vocabulary": self._vocabulary,
        }

    def __reduce__(self):
        from keras_albert.tokenizers.encoders import encoder_from_config

        return encoder_from_config, (self.config(),)

    def vocabulary_size(self):
        """Number of ids."""
        return len(self._pieces)

    def get_vocabulary(self):
        """Lists the pieces in the order of their ids."""
        return list(self._pieces)

    def id_to_token(self, token_id):
        """Returns the piece of an id."""
        return self._pieces[token_id]

    def fingerprint(self):
        """Hashes what decides the ids: vocabulary, normalisation, options.

        Returns:
            SHA-256 as a hexadecimal string, equal to the tokenizer's.
        """
        options = {"class": self.class_name, **self.options}
        for name in self.later_options:
            if options[name] == self.default_options[name]:
                del options[name]
        digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
        digest.update(self._vocabulary)
        return digest.hexdigest()

    @functools.cached_property
    def special_token_ids(self):
        """Sorted int32 array: ids that are no text, never masked or drawn."""
        ids = range(self.vocabulary_size())
        return np.array([i for i in ids if self._is_special(i)], "int32")

    @functools.cached_property
    def replacement_ids(self):
        """Sorted int32 array: ids that masking may put at random."""
        ids = np.arange(self.vocabulary_size(), dtype="int32")
        return np.setdiff1d(ids, self.special_token_ids)

    def encode_batch(self, texts):
        """Turns texts into token ids.

        Args:
            texts: list of strings (or of UTF-8 bytes).

        Returns:
            A list of lists of int, without [CLS], [SEP] or padding.
        """
        token_ids, row_splits = self.encode_to_arrays(texts)
        token_ids = token_ids.tolist()
        return [token_ids[a:b] for a, b in pairwise(row_splits.tolist())]

    def encode_to_arrays(self, texts):
        """Turns texts into two flat arrays, faster than `encode_batch`.

        Args:
            texts: list of strings (or of UTF-8 bytes).

        Returns:
            `(token_ids, row_splits)`: int32 of shape `(num_tokens,)` and
            int64 of shape `(len(texts) + 1,)`. The ids of `texts[i]` are
            `token_ids[row_splits[i]:row_splits[i + 1]]`.
        """
        texts = [clean_unicode(text) for text in texts]
        if self.options["special_tokens_in_strings"]:
            return self._encode_with_special(texts)
        return self._encode_plain(texts)

    def _encode_with_special(self, texts):
        ids = dict(
            zip(self.special_tokens, self.special_ids.values(), strict=True)
        )
        pattern = special_pattern(self.special_tokens)
        parts = [[p for p in re.split(pattern, t) if p] for t in texts]
        flat = list(chain.from_iterable(parts))
        # A special token is encoded as an empty text, and put in afterwards.
        token_ids, splits = self._encode_plain(
            ["" if part in ids else part for part in flat]
        )
        is_special = np.array([part in ids for part in flat], "bool")
        token_ids = np.insert(
            token_ids,
            splits[:-1][is_special],
            np.array([ids[part] for part in flat if part in ids], "int32"),
        )
        splits = splits + splits_of_lengths(is_special)
        return token_ids, splits[splits_of_lengths(map(len, parts))]


def splits_of_lengths(lengths):
    """Row splits from the lengths of rows.

    >>> splits_of_lengths([2, 0, 1])
    array([0, 2, 2, 3])
    """
    return np.cumsum(np.fromiter(chain([0], lengths), "int64"))


def expand_ids(token_ids, row_splits, rows, values, splits):
    """Puts a row of a table in the place of some ids.

    Args:
        token_ids: int array of shape `(num_tokens,)`.
        row_splits: int array of shape `(num_rows + 1,)`.
        rows: int array of shape `(num_tokens,)`: the row of the table for
            each id, or -1 where the id stays.
        values: int array. The rows of the table, one after the other.
        splits: int array of shape `(num_table_rows + 1,)`. Row `i` is
            `values[splits[i]:splits[i + 1]]`.

    Returns:
        `(token_ids, row_splits)`, as int32 and int64.
    """
    (places,) = np.nonzero(rows >= 0)
    if not len(places):
        return token_ids.astype("int32", copy=False), row_splits
    taken = rows[places]
    counts = splits[taken + 1] - splits[taken]
    lengths = np.ones(len(token_ids), "int64")
    lengths[places] = counts
    ends = np.concatenate([[0], np.cumsum(lengths)])
    expanded = np.repeat(token_ids.astype("int32", copy=False), lengths)
    within = np.arange(counts.sum()) - np.repeat(
        np.cumsum(counts) - counts, counts
    )
    target = np.repeat(ends[places], counts) + within
    expanded[target] = values[np.repeat(splits[taken], counts) + within]
    return expanded, ends[row_splits]


def complete_options(class_name, default_options, options):
    """Fills in the default options; refuses names that do not exist."""
    unknown = sorted(set(options) - set(default_options))
    if unknown:
        raise ValueError(
            f"{class_name} has no option {', '.join(unknown)}. Its options "
            f"are {', '.join(default_options)}."
        )
    return {
        name: bool(options.get(name, default))
        for name, default in default_options.items()
    }


def special_pattern(tokens):
    """Regular expression for special tokens, the longest first."""
    names = sorted(tokens, key=len, reverse=True)
    return f"({'|'.join(map(re.escape, names))})"


def find_special_ids(pieces, tokens, class_name):
    """Looks up the special tokens, which must all exist.

    Args:
        pieces: list of strings. The vocabulary.
        tokens: sequence of strings, in the order of `SPECIAL_TOKEN_NAMES`.
        class_name: string. For the message.

    Returns:
        A list of ids.

    Raises:
        ValueError: if some are missing.
    """
    place_of = {piece: i for i, piece in enumerate(pieces)}
    missing = [token for token in tokens if token not in place_of]
    if missing:
        raise ValueError(
            f"The vocabulary of {class_name} lacks the special tokens "
            f"{', '.join(missing)} (it has {len(place_of)} entries). "
            "Train one with `keras_albert.tokenizers.train_tokenizer`, or "
            "choose the tokenizer class that the vocabulary was made for."
        )
    return [place_of[token] for token in tokens]
