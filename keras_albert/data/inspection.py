"""What a corpus looks like, before a day is spent on it.

files -> scan_documents -> lines      all: faults, lengths, repeats
                        -> sentences  of a sample: scripts, signs, tokens
      -> CorpusReport   -> problems and advice
"""

import dataclasses
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b

from keras_albert.data.corpus import Files
from keras_albert.data.corpus import find_files
from keras_albert.data.corpus_measures import ExampleCounter
from keras_albert.data.corpus_measures import Histogram
from keras_albert.data.corpus_measures import RepeatCounter
from keras_albert.data.corpus_measures import script_shares
from keras_albert.data.corpus_scanning import FileScan
from keras_albert.data.corpus_scanning import scan_documents
from keras_albert.data.sentences import split_sentences
from keras_albert.data.text_signs import SIGN_NAMES
from keras_albert.data.text_signs import find_signs

EXAMPLE_LENGTHS = (128, 512)
_SENTENCES_PER_BATCH = 1024
# Document i is in the sample if the fraction of i times this is below the
# share: any number of documents is spread evenly.
_GOLDEN = 0.6180339887498949


@dataclasses.dataclass
class TokenFigures:
    """What a tokenizer makes of the sample.

    Args:
        num_tokens: int.
        num_unknown: int. Tokens that stand for unknown text.
        tokens_per_sentence: `Histogram`.
        num_examples: dict from sequence length to the number of examples that
            the sample gives, without the shorter ones drawn on purpose.
    """

    num_tokens: int
    num_unknown: int
    tokens_per_sentence: Histogram
    num_examples: dict[int, int]


@dataclasses.dataclass
class CorpusReport:
    """What was found; `corpus_problems` and `corpus_advice` judge it.

    Args:
        files: list of `FileScan`.
        num_documents: int.
        num_lines: int. Lines that are not blank.
        num_characters: int.
        documents: `RepeatCounter` of whole documents.
        lines: `RepeatCounter` of lines.
        num_measured_characters: int. Characters of the sample, from which all
            that follows is.
        num_measured_documents: int.
        num_one_sentence_documents: int.
        num_words: int. Runs of characters between white space.
        sentences_per_document: `Histogram`.
        characters_per_sentence: `Histogram`.
        scripts: dict from script to its share of the letters.
        num_distinct_characters: int.
        num_measured_lines: int.
        signs: dict from the names of `find_signs` to numbers of lines.
        tokens: `TokenFigures`, or `None` without a tokenizer.
    """

    files: list[FileScan]
    num_documents: int
    num_lines: int
    num_characters: int
    documents: RepeatCounter
    lines: RepeatCounter
    num_measured_characters: int
    num_measured_documents: int
    num_one_sentence_documents: int
    num_words: int
    sentences_per_document: Histogram
    characters_per_sentence: Histogram
    scripts: dict[str, float]
    num_distinct_characters: int
    num_measured_lines: int
    signs: dict[str, int]
    tokens: TokenFigures | None

    def whole(self, number):
        """Estimates for the corpus what `number` is in the sample."""
        if self.num_measured_characters == self.num_characters:
            return number
        measured = max(1, self.num_measured_characters)
        return round(number * self.num_characters / measured)

    @property
    def is_sample(self):
        """Whether only a share of the documents was looked at closely."""
        return self.num_measured_documents < self.num_documents

    def to_dict(self):
        """The report as plain numbers, strings, lists and dicts."""
        fields = dict(vars(self))
        fields["files"] = [dataclasses.asdict(scan) for scan in self.files]
        for name, value in fields.items():
            if hasattr(value, "to_dict"):
                fields[name] = value.to_dict()
        if self.tokens is not None:
            histogram = self.tokens.tokens_per_sentence.to_dict()
            fields["tokens"] = {
                **vars(self.tokens),
                "tokens_per_sentence": histogram,
            }
        return fields


def inspect_corpus(
    files: Files,
    tokenizer=None,
    *,
    sample: float = 1.0,
    text_field: str = "text",
    progress: Callable[[int], None] | None = None,
) -> CorpusReport:
    """Reads a corpus once and says what it looks like.

    Nothing stops it: bytes that are not UTF-8, damaged files and bad rows are
    counted. Memory does not grow with the corpus.

    Args:
        files: as for `read_documents`.
        tokenizer: `AlbertTokenizer`, `AlbertWordPieceTokenizer` or what
            `load_encoder` gives, to count tokens. Defaults to `None`.
        sample: float in (0, 1]. Share of the documents that is cut into
            sentences and looked at closely; all are read and compared.
            Defaults to `1.0`.
        text_field: string. Field of JSON lines. Defaults to `"text"`.
        progress: function that is called with the number of bytes of the
            files that were read since its last call. Defaults to `None`.

    Returns:
        A `CorpusReport`.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If a file is a folder, or `sample` is out of range.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("One. Two. Three.\\n\\nFour.\\n")
    >>> report = inspect_corpus(path)
    >>> report.num_documents, report.num_one_sentence_documents
    (2, 1)
    """
    if not 0 < sample <= 1:
        raise ValueError(
            f"`sample` must be a share, over 0 and up to 1. Received: {sample}."
        )
    inspector = _Inspector(tokenizer, sample)
    scans = []
    for path in find_files(files):
        scan = FileScan(str(path), path.stat().st_size)
        scans.append(scan)
        for document in scan_documents(path, scan, text_field, progress):
            inspector.add_document(document)
    return inspector.report(scans)


class _Inspector:
    """The counters; holds one line and one batch of sentences at a time."""

    def __init__(self, tokenizer, sample):
        self._sample = sample
        self._tokens = _TokenCounter(tokenizer) if tokenizer else None
        self._totals = Counter()
        self._signs = Counter()
        self._characters = Counter()
        self._documents = RepeatCounter()
        self._lines = RepeatCounter()
        self._sentence_counts = Histogram()
        self._sentence_lengths = Histogram()

    def add_document(self, lines):
        index = self._totals["documents"]
        self._totals["documents"] += 1
        is_measured = index * _GOLDEN % 1 < self._sample
        digest = blake2b(digest_size=8)
        first, num_sentences = "", 0
        for line in lines:
            first = first or line
            self._totals["lines"] += 1
            self._totals["characters"] += len(line)
            digest.update(line.encode("utf-8", "replace"))
            digest.update(b"\n")
            self._lines.add(line)
            if is_measured:
                num_sentences += self._measure(line)
        self._documents.add(first, digest.digest())
        if is_measured:
            self._totals["measured_documents"] += 1
            self._totals["one_sentence"] += num_sentences == 1
            self._sentence_counts.add(num_sentences)
            if self._tokens is not None:
                self._tokens.end_document()

    def _measure(self, line):
        self._totals["measured_lines"] += 1
        self._totals["measured_characters"] += len(line)
        self._totals["words"] += len(line.split())
        self._characters.update(line)
        self._signs.update(find_signs(line))
        sentences = split_sentences(line)
        for sentence in sentences:
            self._sentence_lengths.add(len(sentence))
        if self._tokens is not None:
            self._tokens.add(sentences)
        return len(sentences)

    def report(self, scans):
        totals = self._totals
        return CorpusReport(
            files=scans,
            num_documents=totals["documents"],
            num_lines=totals["lines"],
            num_characters=totals["characters"],
            documents=self._documents,
            lines=self._lines,
            num_measured_characters=totals["measured_characters"],
            num_measured_documents=totals["measured_documents"],
            num_one_sentence_documents=totals["one_sentence"],
            num_words=totals["words"],
            sentences_per_document=self._sentence_counts,
            characters_per_sentence=self._sentence_lengths,
            scripts=script_shares(self._characters),
            num_distinct_characters=len(self._characters),
            num_measured_lines=totals["measured_lines"],
            signs={name: self._signs[name] for name in SIGN_NAMES},
            tokens=self._tokens and self._tokens.figures(),
        )


class _TokenCounter:
    """Encodes sentences in batches and counts what they give."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._sentences = []
        self._ends = set()
        self._num_tokens = self._num_unknown = 0
        self._lengths = Histogram()
        self._examples = {n: ExampleCounter(n) for n in EXAMPLE_LENGTHS}

    def add(self, sentences):
        self._sentences.extend(sentences)
        if len(self._sentences) >= _SENTENCES_PER_BATCH:
            self._flush()

    def end_document(self):
        self._ends.add(len(self._sentences))

    def _flush(self):
        unknown = self._tokenizer.unk_token_id
        for place, ids in enumerate(
            self._tokenizer.encode_batch(self._sentences)
        ):
            if place in self._ends:
                self._end_examples()
            self._num_tokens += len(ids)
            self._num_unknown += ids.count(unknown)
            self._lengths.add(len(ids))
            for counter in self._examples.values():
                counter.add_sentence(len(ids))
        if len(self._sentences) in self._ends:
            self._end_examples()
        self._sentences, self._ends = [], set()

    def _end_examples(self):
        for counter in self._examples.values():
            counter.end_document()

    def figures(self):
        self._flush()
        return TokenFigures(
            self._num_tokens,
            self._num_unknown,
            self._lengths,
            {n: counter.count for n, counter in self._examples.items()},
        )
