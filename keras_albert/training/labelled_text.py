"""Labelled texts, alone or in pairs, from TSV, CSV and JSON lines."""

import csv
import dataclasses
import gzip
import io
import json
import math
from pathlib import Path

_LABEL_COLUMNS = ("label", "category", "class")
_TEXT_COLUMNS = ("text", "sentence", "review", "content")
_PAIR_COLUMNS = (
    ("text_a", "text_b"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
)
_SUFFIXES = (".tsv", ".csv", ".jsonl", ".ndjson")


@dataclasses.dataclass(frozen=True)
class LabelledText:
    """Texts and the name of the class of each.

    Args:
        texts: list of strings, or list of `(text_a, text_b)` tuples.
        labels: list of strings, as long as `texts`.
    """

    texts: list
    labels: list

    def __post_init__(self):
        if len(self.texts) != len(self.labels):
            raise ValueError(
                "Every text needs one label. Received: "
                f"{len(self.texts)} texts and {len(self.labels)} labels."
            )
        if not self.texts:
            raise ValueError(
                "There are no labelled texts. Received an empty list."
            )
        for label in set(self.labels):
            _check_label(label)

    @property
    def is_pair(self):
        """Whether each example is a pair of texts."""
        return not isinstance(self.texts[0], str)

    @property
    def label_names(self):
        """The different labels, sorted; numbers in the order of numbers."""
        return sorted(set(self.labels), key=_by_number_then_name)

    def select(self, indices):
        """Returns the examples at `indices`, in that order."""
        return LabelledText(
            [self.texts[i] for i in indices], [self.labels[i] for i in indices]
        )


def as_labelled_text(source):
    """Returns `LabelledText` from itself, `(texts, labels)` or a file.

    Args:
        source: `LabelledText`, a tuple `(texts, labels)`, or the path of a
            file for `read_labelled_text`.
    """
    if isinstance(source, LabelledText):
        return source
    if isinstance(source, (str, Path)):
        return read_labelled_text(source)
    try:
        texts, labels = source
    except (TypeError, ValueError):
        raise TypeError(
            "Labelled text must be a `(texts, labels)` tuple or the path of a "
            f"file. Received: {type(source).__name__}."
        ) from None
    texts = [t if isinstance(t, str) else tuple(t) for t in texts]
    return LabelledText(texts, [str(label) for label in labels])


def read_labelled_text(
    path, text_column=None, label_column=None, second_text_column=None
):
    """Reads a table with a header, or JSON objects one a line.

    Args:
        path: string or path ending in `.tsv`, `.csv`, `.jsonl` or `.ndjson`,
            with `.gz` or not. TSV has no quoting: a quotation mark is a
            character like any other.
        text_column: string. Defaults to the first of `text`, `sentence`,
            `review`, `content` that is there, or a usual pair such as
            `sentence1`, `sentence2`.
        label_column: string. Defaults to the first of `label`, `category`,
            `class`.
        second_text_column: string. The second text of pairs.

    Returns:
        `LabelledText`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: for an unknown suffix, text that is not UTF-8, a missing
            or double column, a row with cells too few or too many, quotation
            marks that do not match, or no rows.
    """
    path = Path(path)
    rows = _read_rows(path)
    if not rows:
        raise ValueError(
            f"{path} holds no examples. Expected a header and at least one "
            "row, or JSON objects one a line."
        )
    columns = list(rows[0][1])
    label = _label_column(path, columns, label_column)
    texts = _text_columns(path, columns, text_column, second_text_column)
    examples, labels = [], []
    for number, row in rows:
        values = [row.get(name) for name in (*texts, label)]
        if None in values or values[-1] == "":
            raise ValueError(
                f"{path}, line {number}: expected the columns "
                f"{', '.join((*texts, label))}. Received: {row}."
            )
        if any(isinstance(value, list | dict) for value in values):
            raise ValueError(
                f"{path}, line {number}: expected a string or a number as "
                f"{', '.join((*texts, label))}. Received: {row}."
            )
        values = [str(value) for value in values]
        _check_label(values[-1], f"{path}, line {number}: ")
        examples.append(values[0] if len(texts) == 1 else tuple(values[:2]))
        labels.append(values[-1])
    return LabelledText(examples, labels)


def _check_label(label, where=""):
    """Refuses names that no file could hold once the model is trained."""
    if label.isascii():
        return
    try:
        label.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{where}the label {label!r} holds half a character, a lone "
            "surrogate, which UTF-8 cannot write. Correct it."
        ) from None


def _read_rows(path):
    """Returns `(line number, dict)` of every row that is not blank."""
    suffix = Path(path.stem if path.suffix == ".gz" else path.name).suffix
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{path} has an unknown kind of table. Expected a name that ends "
            f"in {', '.join(_SUFFIXES)}, with .gz or not."
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}. Expected labelled texts there."
        )
    text = _read_text(path)
    if suffix in (".jsonl", ".ndjson"):
        return _json_rows(path, text)
    cells = _tab_cells if suffix == ".tsv" else _comma_cells
    return _table_rows(path, cells(path, text))


def _table_rows(path, table):
    """Names the cells of each row by the header, which is the first row."""
    _, header = next(((n, row) for n, row in table if row), (1, []))
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise ValueError(
            f"{path} has the column {twice[0]} twice. Rename or remove one of "
            "the two."
        )
    rows = []
    for number, row in table:
        # Programs that fill rows up leave empty cells at the end.
        if any(row[len(header) :]):
            raise ValueError(
                f"{path}, line {number}: {len(row)} cells under "
                f"{len(header)} columns ({', '.join(header)}). A text that "
                "holds the separator must stand in quotation marks in .csv; "
                "in .tsv no text can hold a tab."
            )
        if row:
            rows.append((number, dict(zip(header, row, strict=False))))
    return rows


def _tab_cells(path, text):
    """Yields `(line number, cells)`; there is no quoting."""
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line.split("\t") if line else []


def _comma_cells(path, text):
    """Yields `(line number, cells)`, of a row's first line."""
    # Else a forgotten quotation mark takes all rows up to the next one into
    # its text, without a word.
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    # The limit is one for the process, and lower than a long text.
    limit = csv.field_size_limit(len(text))
    number = 1
    try:
        for row in table:
            yield number, row
            number = table.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {number}: {error}. A quotation mark must be closed, "
            'and one inside a quoted text is written twice, as in "a ""b"" c".'
        ) from None
    finally:
        csv.field_size_limit(limit)


def _json_rows(path, text):
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{path}, line {number} is not JSON: {error.msg}."
            ) from None
        if not isinstance(row, dict):
            raise ValueError(
                f"{path}, line {number}: expected a JSON object with the "
                f"text and its label. Received: {type(row).__name__}."
            )
        rows.append((number, row))
    return rows


def _read_text(path):
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            content = file.read()
    except (EOFError, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} is not a complete gzip file ({error}). Compress it again."
        ) from None
    text = decode_text(content, path)
    return text if "\n" in text else text.replace("\r", "\n")


def decode_text(content, name):
    """Returns the text in bytes of UTF-8, its lines ended by a line feed.

    Args:
        content: bytes.
        name: string or path. Names them in the error.

    Raises:
        ValueError: for the first byte that is not UTF-8.

    Example:

    >>> decode_text(b"good\\r\\nbad", "reviews.txt")
    'good\\nbad'
    """
    try:
        # `utf-8-sig` drops the mark that spreadsheets put in front.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} is not UTF-8: byte {error.start}, line {line}. Convert "
            "it first, for example: iconv -f gb18030 -t utf-8."
        ) from None


def _label_column(path, columns, wanted):
    candidates = _LABEL_COLUMNS if wanted is None else (wanted,)
    found = [name for name in candidates if name in columns]
    if not found:
        raise _missing(path, "label", candidates, columns)
    return found[0]


def _text_columns(path, columns, wanted, second):
    if wanted is not None or second is not None:
        names = (wanted,) if second is None else (wanted, second)
        missing = [name for name in names if name not in columns]
        if missing:
            raise _missing(path, "text", missing, columns)
        return names
    for names in (*_PAIR_COLUMNS, *((name,) for name in _TEXT_COLUMNS)):
        if all(name in columns for name in names):
            return names
    candidates = (*_TEXT_COLUMNS, "text_a with text_b", "sentence1 with …2")
    raise _missing(path, "text", candidates, columns)


def _missing(path, what, candidates, columns):
    return ValueError(
        f"{path} has no {what} column: expected {' or '.join(candidates)}. "
        f"Received the columns: {', '.join(columns) or 'none'}. Name it with "
        f"`{what}_column`."
    )


def _by_number_then_name(label):
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    # "nan" and "inf" are names; NaN would leave the others in no order.
    return (0, number, label) if math.isfinite(number) else (1, 0.0, label)
