"""Documents from files.

    corpus/*.txt.gz  ->  resolve_files  ->  read_documents  ->  [line, line, …]

A document is a list of lines; a line holds one sentence or one paragraph. In
text files a blank line ends a document; in JSON lines each row is a document.
"""

import dataclasses
import glob
import gzip
import json
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
_PROBE_BYTES = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# A line that must be cut is cut after a space, if one is this near.
_SPACE_WITHIN = 1 << 12

Files = str | Path | Iterable[str | Path]


@dataclasses.dataclass
class ReadingCounts:
    """How far reading has come, and what was too long to be held whole.

    Args:
        stored_bytes: int. Bytes of the files as they are stored, compressed
            perhaps, that lie behind the last document.
        cut_documents: int. Documents that were handed out in parts.
        split_lines: int. Lines that were cut into several.
    """

    stored_bytes: int = 0
    cut_documents: int = 0
    split_lines: int = 0


def read_documents(
    files: Files,
    text_field: str = "text",
    *,
    max_bytes: int | None = None,
    counts: ReadingCounts | None = None,
) -> Iterator[list[str]]:
    """Streams documents from text files and JSON lines.

    All files are found and checked when the function is called, before the
    first document is read; only one document is held in memory at a time.

    Args:
        files: A path or glob pattern, or an iterable of them. `.jsonl`,
            `.ndjson` and `.json` files hold one JSON object a line; every
            other file is text with one sentence or paragraph a line and a
            blank line between documents. Each may be compressed (`.gz`).
        text_field: string. Name of the JSON field with the document's text,
            which is split into lines. Defaults to `"text"`.
        max_bytes: int. A longer document is handed out in parts, each of at
            most so many bytes of UTF-8, cut at the end of a line; a longer
            line is cut after a space, or between characters where there is
            none. Nothing is dropped, and memory is bounded even if a whole
            corpus is one document. Defaults to `None`: no limit.
        counts: `ReadingCounts`, kept up to date. Defaults to `None`.

    Returns:
        An iterator of documents, each a list of non-empty lines.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If a file is empty, a folder, damaged or not UTF-8, or if
            a JSON line has no text.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("A title.\\nA sentence.\\n\\nNext document.\\n")
    >>> list(read_documents(path))
    [['A title.', 'A sentence.'], ['Next document.']]
    """
    paths = resolve_files(files)
    return _stream(paths, text_field, max_bytes, counts or ReadingCounts())


def are_files(source) -> bool:
    """Whether a source of text names files, and is not the text itself.

    Args:
        source: a path, a pattern, a list of them, or anything else.

    Returns:
        A bool.
    """
    if isinstance(source, str | Path):
        return True
    return isinstance(source, list | tuple) and all(
        isinstance(item, str | Path) for item in source
    )


def iterate_documents(documents: Iterable) -> Iterator[list[str]]:
    """Streams documents that are in memory or come from a Python iterable.

    Args:
        documents: An iterable of documents. A document is a string, which is
            split into lines, or an iterable of lines. Bytes are read as
            UTF-8, so the NumPy iterator of a `tf.data.Dataset` will do.

    Returns:
        An iterator of documents, each a non-empty list of non-empty lines.

    Raises:
        TypeError: If `documents` is one string or a document is neither a
            string nor an iterable of strings.

    Example:

    >>> list(iterate_documents(["One.\\nTwo.", ["Three.", " "], ""]))
    [['One.', 'Two.'], ['Three.']]
    """
    if isinstance(documents, str | bytes | Path):
        raise TypeError(
            "`documents` must be an iterable of documents. Received one "
            f"{type(documents).__name__}: {str(documents)[:60]!r}. Put a "
            "single document into a list; pass files to `read_documents`."
        )
    for index, document in enumerate(documents):
        if isinstance(document, str | bytes):
            document = [document]
        elif not isinstance(document, Iterable):
            raise TypeError(
                "A document must be a string or a list of strings. Document "
                f"{index} is of type {type(document).__name__}."
            )
        lines = _clean_lines(_as_text(line, index) for line in document)
        if lines:
            yield lines


def resolve_files(patterns: Files) -> list[Path]:
    """Lists the files that paths and glob patterns stand for, sorted.

    Args:
        patterns: A path or glob pattern (`*`, `?`, `[…]`, `**`), or an
            iterable of them. A file named twice is listed once.

    Returns:
        A sorted list of paths. Each of them exists, is not empty and begins
        with UTF-8 text.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If there are no patterns, or a file is empty, a folder,
            damaged or not UTF-8.
    """
    paths = find_files(patterns)
    for path in paths:
        _check_start(path)
    return paths


def find_files(patterns: Files) -> list[Path]:
    """Does what `resolve_files` does, but does not look into the files.

    Args:
        patterns: as in `resolve_files`.

    Returns:
        A sorted list of paths of files.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If there are no patterns, or a file is a folder.
    """
    if isinstance(patterns, str | Path):
        patterns = [patterns]
    paths = sorted({path for item in patterns for path in _expand(item)})
    if not paths:
        raise ValueError(
            "No corpus files were given. Pass at least one text or JSON-lines "
            "file, or a pattern such as 'corpus/*.txt'."
        )
    return paths


def _expand(pattern):
    """Lists the files of one path or pattern; a real path always wins."""
    path = Path(pattern).expanduser()
    if path.is_dir():
        raise ValueError(
            f"A corpus file was expected, but {path} is a folder. "
            f"Use a pattern for the files in it, such as '{path}/*.txt'."
        )
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        matches = glob.glob(str(path), recursive=True)
        files = [Path(match) for match in matches if Path(match).is_file()]
        if files:
            return files
        raise FileNotFoundError(
            f"The pattern '{path}' matches no file (looked from {Path.cwd()}). "
            "Check the folder and the ending; quote patterns in a shell."
        )
    raise FileNotFoundError(
        f"The corpus file {path} does not exist (looked from {Path.cwd()}). "
        "Check the spelling, or use a pattern such as 'corpus/*.txt'."
    )


def _check_start(path):
    """Finds empty, damaged and non-UTF-8 files by their first bytes."""
    with _open(path) as file:
        try:
            start = file.read(_PROBE_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(_damaged(path)) from error
    if not start.removeprefix(_BYTE_ORDER_MARK).strip():
        blank = "holds only blanks" if start else "is empty"
        if len(start) < _PROBE_BYTES:
            raise ValueError(
                f"The corpus file {path} {blank}. "
                "Remove it from the list, or write its text again."
            )
    try:
        getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError as error:
        line = start.count(b"\n", 0, error.start) + 1
        message = _not_utf8(path, line, error.start, start)
        raise ValueError(message) from error


def stream_file(
    file: BinaryIO,
    name: str | Path,
    text_field: str = "text",
    *,
    max_bytes: int | None = None,
    counts: ReadingCounts | None = None,
) -> Iterator[list[str]]:
    """Streams the documents of one open file.

    Args:
        file: binary file, as it is stored.
        name: string or path. Its ending says what is inside, see
            `read_documents`; messages quote it.
        text_field: string. As in `read_documents`, like all others.
        max_bytes: int.
        counts: `ReadingCounts`.

    Returns:
        An iterator of documents, each a list of non-empty lines.
    """
    counts = counts or ReadingCounts()
    path = Path(name)
    suffix = Path(path.stem if path.suffix == ".gz" else path.name).suffix
    if suffix in _JSON_SUFFIXES:
        # A row must be whole to be understood; its text is cut after.
        rows = _decoded_lines(file, name, None, counts)
        for lines in _json_documents(name, rows, text_field):
            pieces = _short_lines(lines, max_bytes, counts)
            yield from _short_documents(pieces, max_bytes, counts)
    else:
        lines = _decoded_lines(file, name, max_bytes, counts)
        yield from _short_documents(lines, max_bytes, counts)


def _stream(paths, text_field, max_bytes, counts):
    for path in paths:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise FileNotFoundError(
                f"The corpus file {path} was there at first and is gone now. "
                "Put it back, or leave it out, and start again."
            ) from None
        with file:
            yield from stream_file(
                file, path, text_field, max_bytes=max_bytes, counts=counts
            )


def _short_documents(lines, max_bytes, counts):
    """Gathers lines up to a blank one, or until `max_bytes` are together."""
    document, size, is_cut = [], 0, False
    for line in lines:
        line = line.strip()
        if not line:
            if document:
                yield document
            document, size, is_cut = [], 0, False
            continue
        if max_bytes is not None:
            length = len(line.encode()) + 1
            if document and size + length > max_bytes:
                yield document
                document, size = [], 0
                counts.cut_documents += not is_cut
                is_cut = True
            size += length
        document.append(line)
    if document:
        yield document


def _short_lines(lines, max_bytes, counts):
    """Cuts lines that are longer than `max_bytes`."""
    for line in lines:
        raw = line.encode() if max_bytes is not None else b""
        if max_bytes is None or len(raw) <= max_bytes:
            yield line
            continue
        counts.split_lines += 1
        while len(raw) > max_bytes:
            place = _cutting_place(raw, max_bytes)
            yield raw[:place].decode()
            raw = raw[place:]
        yield raw.decode()


def _cutting_place(raw, max_bytes):
    """Where to cut UTF-8 that is longer than `max_bytes`."""
    near = max(1, max_bytes - _SPACE_WITHIN)
    place = raw.rfind(b" ", near, max_bytes) + 1
    if place:
        return place
    place = max_bytes
    while place > 1 and raw[place] & 0xC0 == 0x80:
        place -= 1  # inside a character
    return place


def _json_documents(path, lines, text_field):
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"Line {number} of {path} is not JSON ({error.msg}). A JSON "
                "corpus has one object a line, not one array over many lines."
            ) from error
        text = row.get(text_field) if isinstance(row, dict) else None
        if not isinstance(text, str):
            fields = (
                sorted(row) if isinstance(row, dict) else type(row).__name__
            )
            raise ValueError(
                f"Line {number} of {path} has no text in the field "
                f"{text_field!r}. Received: {fields}. "
                "Name the field with `text_field`."
            )
        document = _clean_lines([text])
        if document:
            yield document


def _decoded_lines(file, name, max_bytes, counts):
    """Yields lines as text; a byte that is not UTF-8 is named with its place.

    Only "\\n" ends a line: `str.splitlines` would also cut at form feeds and
    other characters that occur inside sentences.
    """
    offset = 0
    before = counts.stored_bytes
    is_gzip = Path(name).suffix == ".gz"
    text = gzip.GzipFile(fileobj=file) if is_gzip else file
    for number, raw in _raw_lines(name, text, max_bytes, counts):
        if offset == 0:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            start = offset + error.start
            message = _not_utf8(name, number, start, raw)
            raise ValueError(message) from error
        counts.stored_bytes = before + file.tell()
        yield line
        offset += len(raw)


def _raw_lines(path, file, max_bytes, counts):
    """Yields `(line number, bytes)`; a long line comes in parts."""
    number, rest = 1, b""
    try:
        while True:
            # One byte more tells whether the line goes on.
            room = -1 if max_bytes is None else max_bytes + 1 - len(rest)
            raw = rest + file.readline(room)
            if not raw:
                return
            if max_bytes is None or len(raw) <= max_bytes or raw[-1:] == b"\n":
                yield number, raw
                number, rest = number + 1, b""
                continue
            counts.split_lines += not rest
            place = _cutting_place(raw, max_bytes)
            yield number, raw[:place]
            rest = raw[place:]
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(_damaged(path)) from error


def _open(path):
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _clean_lines(texts):
    pieces = (line.strip() for text in texts for line in text.split("\n"))
    return [line for line in pieces if line]


def _as_text(line, index):
    if isinstance(line, bytes):
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"Document {index} is not UTF-8 (byte {error.start})."
            ) from error
    if not isinstance(line, str):
        raise TypeError(
            "A document must be a string or a list of strings. Document "
            f"{index} holds an item of type {type(line).__name__}."
        )
    return line


def _damaged(path):
    return (
        f"The corpus file {path} is not a complete gzip file. "
        "Compress it again, or drop the ending .gz if it is plain text."
    )


def _not_utf8(path, line, offset, sample):
    wide = sample.startswith((b"\xff\xfe", b"\xfe\xff"))
    guess = "UTF-16" if wide else "the old encoding, such as gb18030 or latin-1"
    source = "utf-16" if wide else "gb18030"
    return (
        f"The corpus file {path} is not UTF-8: byte {offset}, line {line}. "
        f"It may be in {guess}. "
        f"Convert it first, for example: iconv -f {source} -t utf-8."
    )
