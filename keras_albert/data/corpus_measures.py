"""Measures of a stream in bounded memory: histograms, repeats, scripts."""

import unicodedata
from collections import Counter
from hashlib import blake2b

MAX_EXACT = 1000
MAX_KNOWN = 1 << 17
_MAX_TEXTS = 1 << 13
_TEXT_CHARACTERS = 60
# First words of Unicode's names that name no script.
_WIDTHS = {"FULLWIDTH", "HALFWIDTH", "MODIFIER", "MATHEMATICAL", "CIRCLED"}
_SCRIPTS = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana"}


class Histogram:
    """Counts of whole numbers; those over 1000 are kept to two digits."""

    def __init__(self):
        self.count = 0
        self.total = 0
        self.largest = 0
        self._counts = Counter()

    def add(self, value):
        """Counts one number."""
        self.count += 1
        self.total += value
        if value > self.largest:
            self.largest = value
        self._counts[_rounded(value) if value > MAX_EXACT else value] += 1

    @property
    def mean(self):
        """Mean of all numbers; 0 without any."""
        return self.total / max(1, self.count)

    def quantile(self, share):
        """The smallest number that `share` of all do not exceed."""
        rank, seen = share * self.count, 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= rank:
                return value
        return 0

    def bins(self):
        """Lists `(first, last, count)` for 1, 2, 3-4, 5-8, 9-16 and so on."""
        bins = Counter()
        for value, count in self._counts.items():
            bins[max(0, value - 1).bit_length()] += count
        if not bins:
            return []
        return [
            (2 ** (i - 1) + 1 if i else 1, 2**i, bins[i])
            for i in range(min(bins), max(bins) + 1)
        ]

    def to_dict(self):
        """The figures as plain numbers and lists."""
        return {
            "count": self.count,
            "mean": round(self.mean, 2),
            "median": self.quantile(0.5),
            "ninety_percent": self.quantile(0.9),
            "largest": self.largest,
            "bins": [list(b) for b in self.bins()],
        }


class RepeatCounter:
    """Counts how many texts repeat an earlier one.

    Hashes of up to 131,072 different texts are kept. When there are more, the
    half of them with an odd hash is left out of the sample, and so on: then
    the figures are estimates. What stays in the sample is counted exactly.
    """

    def __init__(self, max_known=MAX_KNOWN):
        self.count = 0
        self._max_known = max_known
        self._level = 0
        self._known = {}
        self._texts = {}

    def add(self, text, digest=None):
        """Counts one text; `digest` is 8 bytes that stand for it."""
        self.count += 1
        if digest is None:
            digest = blake2b(text.encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "little")
        if key & ((1 << self._level) - 1):
            return
        times = self._known.get(key, 0) + 1
        self._known[key] = times
        if times == 2 and len(self._texts) < _MAX_TEXTS:
            self._texts[key] = text[:_TEXT_CHARACTERS]
        while len(self._known) > self._max_known:
            self._level += 1
            mask = (1 << self._level) - 1
            self._known = _sampled(self._known, mask)
            self._texts = _sampled(self._texts, mask)

    @property
    def is_estimate(self):
        """Whether there were too many texts to know them all."""
        return self._level > 0

    @property
    def share(self):
        """Share of texts that repeat an earlier one."""
        total = sum(self._known.values())
        return (total - len(self._known)) / max(1, total)

    def most_repeated(self, number=3):
        """Lists `(beginning of the text, times)`, the most frequent first."""
        times = {key: self._known[key] for key in self._texts}
        keys = sorted(times, key=lambda key: (-times[key], key))[:number]
        return [(self._texts[key], times[key]) for key in keys]

    def to_dict(self):
        """The figures as plain numbers and lists."""
        return {
            "count": self.count,
            "repeated_share": round(self.share, 4),
            "is_estimate": self.is_estimate,
            "most_repeated": [list(pair) for pair in self.most_repeated()],
        }


class ExampleCounter:
    """Counts the examples of one length that documents give.

    Args:
        sequence_length: int. With the three special tokens.
    """

    def __init__(self, sequence_length):
        self.count = 0
        self._room = sequence_length - 3
        self._filled = 0

    def add_sentence(self, num_tokens):
        """Adds a sentence of the current document."""
        # A sentence that is longer than an example is cut into several.
        full, rest = divmod(num_tokens, self._room)
        if full:
            self.count += full
            self._filled = 0
        self._filled += rest
        if self._filled >= self._room:
            self.count += 1
            self._filled = 0

    def end_document(self):
        """Closes the example begun: none spans two documents."""
        self.count += self._filled > 0
        self._filled = 0


def script_shares(characters):
    """Shares of scripts among letters, the largest first.

    Args:
        characters: dict from a character to how often it occurs.

    Returns:
        A dict from names, such as `"Latin"` and `"Han"`, to shares.

    Example:

    >>> script_shares({"a": 2, "ж": 1, "中": 1, "!": 9})
    {'Latin': 0.5, 'Cyrillic': 0.25, 'Han': 0.25}
    """
    counts = Counter()
    for character, count in characters.items():
        script = script_of(character)
        if script:
            counts[script] += count
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common()}


def script_of(character):
    """The script of a letter or mark, from its name; `""` for all others."""
    if unicodedata.category(character)[0] not in "LM":
        return ""
    words = unicodedata.name(character, "").split()
    while words and words[0] in _WIDTHS:
        words = words[1:]
    if not words or words[0] in ("COMBINING", "LETTER", "VARIATION"):
        return ""
    return _SCRIPTS.get(words[0], words[0].capitalize())


def _rounded(value):
    step = 10 ** (len(str(value)) - 2)
    return value // step * step


def _sampled(known, mask):
    return {key: value for key, value in known.items() if not key & mask}
