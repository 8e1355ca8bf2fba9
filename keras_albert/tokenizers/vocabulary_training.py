"""Trains a SentencePiece vocabulary in the layout of Google's ALBERT.

The text is normalised before training exactly as it will be in use, so that
no piece is learned that use can never produce.
"""

import collections
import dataclasses
import hashlib
import io
import os
import random
import re
import unicodedata
from pathlib import Path

from keras_albert.tokenizers.normalization import clean_unicode
from keras_albert.tokenizers.normalization import normalize_text
from keras_albert.tokenizers.stored_options import append_options

CONTROL_SYMBOLS = ("[CLS]", "[SEP]", "[MASK]")
USER_DEFINED_SYMBOLS = ("(", ")", '"', "-", ".", "–", "£", "€")
NUM_FIXED_PIECES = 2 + len(CONTROL_SYMBOLS) + len(USER_DEFINED_SYMBOLS)
# SentencePiece drops longer lines, by default without a word.
MAX_LINE_BYTES = 4192
# Marks that SentencePiece keeps for itself; it drops lines that hold one.
RESERVED = re.compile("[\0\t▁▅⁇]")
# The result depends on how the sums are split up, so this never follows the
# machine.
NUM_THREADS = 16
DEFAULT_COVERAGE = 0.99995
WIDE_SCRIPT_COVERAGE = 0.9995


@dataclasses.dataclass(frozen=True)
class VocabularySummary:
    """What `train_tokenizer` made, and from what.

    Attributes:
        path: the model file.
        requested_size: the number of pieces asked for.
        size: the number of pieces made; smaller for a small corpus.
        num_lines_seen: lines that held text.
        num_lines_used: lines that took part, after sampling.
        num_long_lines_split: lines that were too long and were cut.
        num_characters: distinct characters in the lines used.
        num_characters_covered: those of them that the vocabulary holds.
        character_coverage: share of the text that was asked to be covered.
        sha256: hash of the model file.
    """

    path: Path
    requested_size: int
    size: int
    num_lines_seen: int
    num_lines_used: int
    num_long_lines_split: int
    num_characters: int
    num_characters_covered: int
    character_coverage: float
    sha256: str

    @property
    def is_reduced(self):
        """Whether the corpus gave fewer pieces than were asked for."""
        return self.size < self.requested_size


def train_tokenizer(
    texts,
    vocabulary_size,
    output,
    *,
    seed=0,
    max_sentences=1_000_000,
    character_coverage=None,
    lowercase=True,
    strip_accents=True,
    collapse_whitespace=True,
    split_digit_comma=True,
):
    """Trains a unigram SentencePiece model and writes it to a file.

    Ids 0 to 4 are `<pad>`, `<unk>`, `[CLS]`, `[SEP]`, `[MASK]`. The options of
    normalisation are stored in the file, where `load_tokenizer` finds them.

    Args:
        texts: iterable of strings: lines, sentences or whole documents. It is
            read once and never held as a whole.
        vocabulary_size: int. Number of pieces wanted. A small corpus may give
            fewer; the summary tells.
        output: string or path. The model file to write.
        seed: int. Decides which lines are sampled. The same seed and texts
            give the same bytes. Defaults to `0`.
        max_sentences: int. At most so many lines take part, drawn at random.
            Training takes about 3 kB of memory for each line of 100
            characters. Defaults to `1_000_000`.
        character_coverage: float. Share of the characters that must be in the
            vocabulary. Defaults to `None`: Google's 0.99995, or 0.9995 where
            most letters are Chinese, Japanese or Korean.
        lowercase: bool. As in `AlbertTokenizer`. Defaults to `True`.
        strip_accents: bool. As in `AlbertTokenizer`. Defaults to `True`.
        collapse_whitespace: bool. As in `AlbertTokenizer`. Defaults to `True`.
        split_digit_comma: bool. As in `AlbertTokenizer`. Defaults to `True`.

    Returns:
        `VocabularySummary`.

    Raises:
        ValueError: if the size or an option cannot be right, or there is no
            text.

    Example:

    ```python
    lines = open("corpus.txt", encoding="utf-8")
    summary = train_tokenizer(lines, 8000, "spiece.model")
    ```

    Reference:
        The `spm_train` command in Google's ALBERT, `README.md`. There the
        text is not normalised first.
    """
    output = Path(output)
    _check_arguments(
        texts, vocabulary_size, output, max_sentences, character_coverage
    )
    normalization = {
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "collapse_whitespace": collapse_whitespace,
    }
    lines = (_clean_line(text, normalization) for text in texts)
    sample = sample_lines(filter(None, lines), max_sentences, seed)
    if not sample.lines:
        raise ValueError(
            "There is no text to train a vocabulary on: every line was empty."
        )
    characters = collections.Counter()
    for line in sample.lines:
        characters.update(line)
    characters.pop(" ", None)
    if character_coverage is None:
        character_coverage = choose_character_coverage(characters)
    covered = covered_characters(characters, character_coverage)
    _check_size(vocabulary_size, covered, character_coverage)
    model = _train(sample.lines, vocabulary_size, character_coverage)
    model = append_options(
        model, {**normalization, "split_digit_comma": split_digit_comma}
    )
    _write_atomically(output, model)
    pieces = _pieces_of(model)
    return VocabularySummary(
        path=output,
        requested_size=vocabulary_size,
        size=len(pieces),
        num_lines_seen=sample.num_seen,
        num_lines_used=sample.num_used,
        num_long_lines_split=sample.num_split,
        num_characters=len(characters),
        num_characters_covered=len(pieces & characters.keys()),
        character_coverage=character_coverage,
        sha256=hashlib.sha256(model).hexdigest(),
    )


@dataclasses.dataclass(frozen=True)
class LineSample:
    """Lines for training, cut to size, and where they come from."""

    lines: list
    num_seen: int
    num_used: int
    num_split: int


def sample_lines(lines, max_lines, seed):
    """Draws lines without holding more than are drawn.

    Args:
        lines: iterable of strings.
        max_lines: int. How many to draw at most.
        seed: int. Decides the draw.

    Returns:
        `LineSample`: the drawn lines in their order, long ones cut.
    """
    generator = random.Random(seed)
    drawn, num_seen = [], 0
    for line in lines:
        # Reservoir sampling: each line seen so far is kept equally likely.
        if num_seen < max_lines:
            drawn.append((num_seen, line))
        else:
            place = generator.randrange(num_seen + 1)
            if place < max_lines:
                drawn[place] = (num_seen, line)
        num_seen += 1
    drawn.sort()
    pieces = [split_long_line(line) for _, line in drawn]
    return LineSample(
        lines=[part for parts in pieces for part in parts],
        num_seen=num_seen,
        num_used=len(drawn),
        num_split=sum(len(parts) > 1 for parts in pieces),
    )


def split_long_line(line, max_bytes=MAX_LINE_BYTES):
    """Cuts a line at sentence ends, else spaces, else between characters.

    >>> split_long_line("One. Two three.", max_bytes=10)
    ['One.', 'Two three.']
    """
    parts = []
    while len(line.encode()) > max_bytes:
        head = line.encode()[:max_bytes].decode("utf-8", "ignore")
        ends = [m.end() for m in re.finditer(r"[.!?] |[。！？]", head)]
        end = ends[-1] if ends else head.rfind(" ") + 1 or len(head)
        parts.append(line[:end].strip())
        line = line[end:].strip()
    return [part for part in (*parts, line) if part]


def choose_character_coverage(characters):
    """Picks the coverage for a script: lower where characters are many.

    Args:
        characters: dict from character to count.

    Returns:
        float.
    """
    wide = sum(n for c, n in characters.items() if _is_wide(c))
    if 2 * wide > sum(characters.values()):
        return WIDE_SCRIPT_COVERAGE
    return DEFAULT_COVERAGE


def covered_characters(characters, coverage):
    """Returns the most frequent characters that make up a share of the text.

    Args:
        characters: dict from character to count.
        coverage: float. The share.

    Returns:
        A set of characters, as SentencePiece picks them.
    """
    total, seen, chosen = sum(characters.values()), 0, set()
    for character, count in sorted(
        characters.items(), key=lambda item: (-item[1], item[0])
    ):
        if seen / total >= coverage:
            break
        seen += count
        chosen.add(character)
    return chosen


def _is_wide(character):
    return unicodedata.name(character, "").startswith(
        ("CJK ", "HIRAGANA", "KATAKANA", "HANGUL")
    )


def _clean_line(text, normalization):
    if not isinstance(text, str | bytes):
        raise TypeError(
            "`texts` must give strings. Received an element of type "
            f"{type(text).__name__}: {text!r:.80}"
        )
    line = normalize_text(clean_unicode(text), **normalization)
    return " ".join(RESERVED.sub(" ", line).split())


def _check_arguments(texts, size, output, max_sentences, coverage):
    if isinstance(texts, str | bytes | os.PathLike):
        raise TypeError(
            "`texts` must be an iterable of strings, not one string. To read "
            "files, pass their lines."
        )
    if size <= NUM_FIXED_PIECES:
        raise ValueError(
            f"`vocabulary_size` must be above {NUM_FIXED_PIECES}, the number "
            f"of special pieces. Received: {size}."
        )
    if max_sentences < 1:
        raise ValueError(
            f"`max_sentences` must be at least 1. Received: {max_sentences}."
        )
    if coverage is not None and not 0.98 <= coverage <= 1:
        raise ValueError(
            "`character_coverage` must lie between 0.98 and 1. Received: "
            f"{coverage}."
        )
    if output.is_dir():
        raise ValueError(
            f"`output` must be a file, and {output} is a folder. Try "
            f"{output / 'spiece.model'}."
        )


def _check_size(size, covered, coverage):
    needed = NUM_FIXED_PIECES + len(covered - set(USER_DEFINED_SYMBOLS)) + 1
    if size < needed:
        raise ValueError(
            f"`vocabulary_size={size}` is too small: the special pieces and "
            f"the characters that cover {coverage:.3%} of the text are "
            f"{needed} pieces. Ask for more pieces, or for a lower "
            "`character_coverage`."
        )


def _train(lines, vocabulary_size, character_coverage):
    import sentencepiece

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=writer,
        model_type="unigram",
        vocab_size=vocabulary_size,
        # A corpus too small for the size gives a smaller one, not an error.
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=list(CONTROL_SYMBOLS),
        user_defined_symbols=list(USER_DEFINED_SYMBOLS),
        character_coverage=character_coverage,
        max_sentence_length=2 * MAX_LINE_BYTES,
        num_threads=NUM_THREADS,
        # Sampling is done here, by a seed of its own.
        input_sentence_size=0,
        shuffle_input_sentence=False,
        minloglevel=2,
    )
    return writer.getvalue()


def _pieces_of(model):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return {processor.id_to_piece(i) for i in range(processor.get_piece_size())}


def _write_atomically(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
