"""Reads corpus files as `read_documents` does, but goes on after each fault.

`read_documents` stops at the first byte that is not UTF-8, since nothing may
be lost. Whoever looks at a corpus wants to know all that is wrong: here each
fault is counted, and its first places are kept.
"""

import dataclasses
import gzip
import json
import zlib
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path

JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
# A longer line is looked at in parts, so that memory is bounded.
MAX_PART_BYTES = 1 << 20
# A line of more characters is no paragraph any more.
LONG_LINE = 10_000
MAX_PLACES = 5
_PROGRESS_BYTES = 1 << 18
_REPLACEMENT = "\ufffd"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BREAK = "\n"  # between documents; no line holds one


@dataclasses.dataclass
class FileScan:
    """What was found in one file.

    Args:
        path: string.
        stored_bytes: int. Size of the file.
        text_bytes: int. Size of its text, uncompressed.
        num_lines: int. Lines, also blank ones.
        num_text_lines: int. Lines, or rows, with text.
        num_undecodable_lines: int. Lines with bytes that are not UTF-8.
        num_undecodable: int. Places in them.
        undecodable_places: the numbers of the first such lines.
        num_bad_rows: int. Rows of JSON lines without JSON or without text.
        bad_row_places: the numbers of the first such rows.
        num_crlf_lines: int. Lines that end in CR LF.
        num_long_lines: int. Lines of over 10,000 characters.
        longest_line: int. Characters of the longest line.
        longest_line_number: int. Where it is; lines count from 1.
        damage: string. Why the file could not be read to its end, or "".
        looks_like_utf16: bool. Whether it begins with the mark of UTF-16;
            then the rest is not read.
    """

    path: str
    stored_bytes: int = 0
    text_bytes: int = 0
    num_lines: int = 0
    num_text_lines: int = 0
    num_undecodable_lines: int = 0
    num_undecodable: int = 0
    undecodable_places: list[int] = dataclasses.field(default_factory=list)
    num_bad_rows: int = 0
    bad_row_places: list[int] = dataclasses.field(default_factory=list)
    num_crlf_lines: int = 0
    num_long_lines: int = 0
    longest_line: int = 0
    longest_line_number: int = 0
    damage: str = ""
    looks_like_utf16: bool = False


def scan_documents(
    path: Path,
    scan: FileScan,
    text_field: str = "text",
    progress: Callable[[int], None] | None = None,
) -> Iterator[Iterator[str]]:
    """Streams the documents of a file, each an iterator of its lines.

    Args:
        path: Text, or JSON lines; both perhaps `.gz`.
        scan: `FileScan` that is filled while the lines are read.
        text_field: string. Field of JSON lines. Defaults to `"text"`.
        progress: function that is called with the number of bytes of the file
            read since its last call. Defaults to `None`.

    Yields:
        Iterators of non-blank lines; a very long line comes in parts. Each
        iterator must be used up before the next is asked for. No document is
        empty.
    """
    report = progress or (lambda num_bytes: None)
    lines = _lines_and_breaks(path, scan, text_field, report)
    for first in lines:
        if first != _BREAK:
            yield _up_to_break(first, lines)


def _up_to_break(first, lines):
    yield first
    for line in lines:
        if line == _BREAK:
            return
        yield line


def _lines_and_breaks(path, scan, text_field, progress):
    suffixes = [s for s in path.suffixes if s != ".gz"]
    is_json = bool(suffixes) and suffixes[-1] in JSON_SUFFIXES
    parts = _raw_parts(path, scan, -1 if is_json else MAX_PART_BYTES, progress)
    length = 0
    for raw, is_start, is_end in parts:
        scan.num_lines += is_start
        if scan.looks_like_utf16:
            return
        text = _decode(raw, scan)
        length += len(text.rstrip("\r\n"))
        stripped = text.strip()
        scan.num_text_lines += is_start and bool(stripped)
        if is_json:
            if stripped:
                yield from _row_lines(stripped, scan, text_field)
                yield _BREAK
        elif stripped:
            yield stripped
        elif is_start and is_end:
            yield _BREAK
        if is_end:
            scan.num_crlf_lines += raw.endswith(b"\r\n")
            scan.num_long_lines += length > LONG_LINE
            if length > scan.longest_line:
                scan.longest_line = length
                scan.longest_line_number = scan.num_lines
            length = 0


def _row_lines(row, scan, text_field):
    try:
        text = json.loads(row)[text_field]
        if not isinstance(text, str):
            raise TypeError
    except (json.JSONDecodeError, LookupError, TypeError):
        scan.num_bad_rows += 1
        if len(scan.bad_row_places) < MAX_PLACES:
            scan.bad_row_places.append(scan.num_lines)
        return
    for line in text.split("\n"):
        for start in range(0, len(line), MAX_PART_BYTES):
            part = line[start : start + MAX_PART_BYTES].strip()
            if part:
                yield part


def _raw_parts(path, scan, limit, progress):
    """Yields `(bytes, is_start, is_end)` of lines; longer ones in parts."""
    reported, rest, is_start = 0, b"", True
    try:
        with _open(path) as file:
            stored = file.fileobj if isinstance(file, gzip.GzipFile) else file
            while raw := file.readline(limit):
                if not scan.text_bytes:
                    scan.looks_like_utf16 = raw.startswith(_WIDE_MARKS)
                    raw = raw.removeprefix(_BYTE_ORDER_MARK)
                scan.text_bytes += len(raw)
                is_end = raw[-1:] == b"\n" or limit < 0 or len(raw) < limit
                raw = rest + raw
                place = len(raw) if is_end else _last_character(raw)
                raw, rest = raw[:place], raw[place:]
                yield raw, is_start, is_end
                is_start = is_end
                if stored.tell() - reported >= _PROGRESS_BYTES:
                    progress(stored.tell() - reported)
                    reported = stored.tell()
        if not is_start:  # the file ended where a part did
            yield rest, False, True
    except (OSError, EOFError, zlib.error) as error:
        scan.damage = str(error) or type(error).__name__
    progress(scan.stored_bytes - reported)


def _last_character(raw):
    """Where the last character of a part begins, as it may be cut."""
    place = len(raw) - 1
    while place > max(0, len(raw) - 4) and raw[place] & 0xC0 == 0x80:
        place -= 1
    return place if raw[place] >= 0x80 else len(raw)


def _decode(raw, scan):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        marked = raw.decode("utf-8", "replace")
    scan.num_undecodable_lines += 1
    known = raw.count(_REPLACEMENT.encode())
    scan.num_undecodable += marked.count(_REPLACEMENT) - known
    if len(scan.undecodable_places) < MAX_PLACES:
        scan.undecodable_places.append(scan.num_lines)
    return raw.decode("utf-8", "ignore")


def _open(path):
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
