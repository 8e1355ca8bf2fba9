"""Spill files: tokenized documents on their way to their shards.

One file holds the documents of one unit of the corpus, ordered by shard, so
that what belongs to a shard is one slice of each array:

    header    magic, number of shards, documents, sentences, tokens, bytes of
              a piece, bytes of the totals (7 x int64)
    places    (shards + 1, 3) int64: where each shard's documents, sentences
              and tokens begin
    arrays    identities int64 | sentences of each document int32 |
              tokens of each sentence int32 | pieces
    totals    JSON
"""

import dataclasses
import json
from pathlib import Path

import numpy as np

from keras_albert.data.shards import Totals
from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import offsets_of
from keras_albert.data.tokenized_documents import shards_of
from keras_albert.data.whole_files import writing_whole

_MAGIC = int.from_bytes(b"KASPILL1", "little")
_HEADER_FIELDS = 7
_HEADER_BYTES = 8 * _HEADER_FIELDS
_PLACE_BYTES = 3 * 8


def write_spill(
    path: str | Path,
    documents: TokenizedDocuments,
    totals: Totals,
    num_shards: int,
) -> None:
    """Writes the documents of a unit.

    Args:
        path: string or path. The file appears when it is complete.
        documents: `TokenizedDocuments`.
        totals: their `Totals`.
        num_shards: int.
    """
    shards = shards_of(documents.identities, num_shards)
    documents = documents.take(np.argsort(shards, kind="stable"))
    first = offsets_of(np.bincount(shards, minlength=num_shards))
    places = np.empty((num_shards + 1, 3), "int64")
    places[:, 0] = first
    places[:, 1] = documents.document_offsets[places[:, 0]]
    places[:, 2] = documents.sentence_offsets[places[:, 1]]
    encoded = json.dumps(dataclasses.asdict(totals)).encode()
    header = [
        _MAGIC,
        num_shards,
        *places[-1],
        documents.pieces.itemsize,
        len(encoded),
    ]
    with writing_whole(path) as file:
        for array in (
            np.array(header, "int64"),
            places,
            documents.identities,
            np.diff(documents.document_offsets).astype("int32"),
            np.diff(documents.sentence_offsets).astype("int32"),
            documents.pieces,
        ):
            file.write(array.tobytes())
        file.write(encoded)


def read_spill(path: str | Path, first: int, stop: int) -> TokenizedDocuments:
    """Reads the documents of consecutive shards.

    Args:
        path: string or path.
        first: int. The first shard.
        stop: int. The shard after the last.

    Returns:
        `TokenizedDocuments`.

    Raises:
        ValueError: if the file is damaged.
    """
    with Path(path).open("rb", buffering=0) as file:
        header = _read_header(file, path)

        def read(position, dtype, count):
            file.seek(position)
            size = count * np.dtype(dtype).itemsize
            content = file.read(size)
            if len(content) < size:
                raise ValueError(_damaged(path))
            return np.frombuffer(content, dtype)

        places = [
            read(_HEADER_BYTES + shard * _PLACE_BYTES, "int64", 3)
            for shard in (first, stop)
        ]
        position = _HEADER_BYTES + (header.num_shards + 1) * _PLACE_BYTES
        arrays = []
        for dtype, column, total in header.arrays():
            begin, end = (int(place[column]) for place in places)
            size = np.dtype(dtype).itemsize
            arrays.append(read(position + size * begin, dtype, end - begin))
            position += size * total
    identities, sentence_counts, token_counts, pieces = arrays
    return TokenizedDocuments(
        identities=identities,
        document_offsets=offsets_of(sentence_counts),
        sentence_offsets=offsets_of(token_counts),
        pieces=pieces,
    )


def read_spill_totals(path: str | Path) -> Totals:
    """Reads the totals of a unit.

    Args:
        path: string or path.

    Returns:
        `Totals`.

    Raises:
        ValueError: if the file is damaged.
    """
    with Path(path).open("rb") as file:
        header = _read_header(file, path)
        if file.seek(0, 2) < header.totals_bytes:
            raise ValueError(_damaged(path))
        file.seek(-header.totals_bytes, 2)
        content = file.read()
    try:
        return Totals(**json.loads(content))
    except (ValueError, TypeError) as error:
        raise ValueError(_damaged(path)) from error


@dataclasses.dataclass(frozen=True)
class _Header:
    magic: int
    num_shards: int
    num_documents: int
    num_sentences: int
    num_tokens: int
    piece_bytes: int
    totals_bytes: int

    def arrays(self):
        """Type, column of the places and length of each array, in order."""
        return (
            ("int64", 0, self.num_documents),
            ("int32", 0, self.num_documents),
            ("int32", 1, self.num_sentences),
            (f"uint{8 * self.piece_bytes}", 2, self.num_tokens),
        )


def _read_header(file, path):
    content = file.read(_HEADER_BYTES)
    fields = np.frombuffer(content[: len(content) // 8 * 8], "int64").tolist()
    if len(fields) < _HEADER_FIELDS or fields[0] != _MAGIC:
        raise ValueError(_damaged(path))
    return _Header(*fields)


def _damaged(path):
    return (
        f"The intermediate file {path} is damaged. Start afresh with "
        "--overwrite (overwrite=True)."
    )
