"""Tokenized documents with their identities, in any order.

Like a `TokenizedCorpus`, but its documents can be picked, reordered and put
together, and each carries a hash of its text. The hash decides everything
that is drawn for a document, and where it is written, so that nothing depends
on which worker met it, or when.
"""

import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np

from keras_albert.data.counter_random import mix

_IDENTITY_BYTES = 8
_SENTENCES_PER_STEP = 1 << 12


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedDocuments:
    """Documents and sentences as flat arrays, see `TokenizedCorpus`.

    Args:
        identities: int64 array of shape `(num_documents,)`.
        document_offsets: int64 array of shape `(num_documents + 1,)`, counted
            in sentences.
        sentence_offsets: int64 array of shape `(num_sentences + 1,)`, counted
            in tokens.
        pieces: unsigned integer array of shape `(num_tokens,)`. Twice the
            token id, plus 1 where a word starts.
    """

    identities: np.ndarray
    document_offsets: np.ndarray
    sentence_offsets: np.ndarray
    pieces: np.ndarray

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.identities)

    @property
    def num_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_offsets) - 1

    @property
    def num_tokens(self) -> int:
        """Number of tokens."""
        return len(self.pieces)

    @property
    def token_ids(self) -> np.ndarray:
        """Array of shape `(num_tokens,)`."""
        return self.pieces >> 1

    @property
    def word_starts(self) -> np.ndarray:
        """Bool array of shape `(num_tokens,)`."""
        return (self.pieces & 1).astype("bool")

    def take(self, order: np.ndarray) -> "TokenizedDocuments":
        """Picks documents.

        Args:
            order: integer array of shape `(num_taken,)`.

        Returns:
            `TokenizedDocuments` in that order.
        """
        sentence_counts = np.diff(self.document_offsets)[order]
        sentences = _ranges(self.document_offsets[order], sentence_counts)
        token_counts = np.diff(self.sentence_offsets)[sentences]
        offsets = offsets_of(token_counts)
        pieces = np.empty(offsets[-1], self.pieces.dtype)
        # Not all at once: the places take far more memory than the pieces.
        for start in range(0, len(sentences), _SENTENCES_PER_STEP):
            part = slice(start, start + _SENTENCES_PER_STEP)
            tokens = _ranges(
                self.sentence_offsets[sentences[part]], token_counts[part]
            )
            begin = offsets[start]
            pieces[begin : begin + len(tokens)] = self.pieces[tokens]
        return TokenizedDocuments(
            identities=self.identities[order],
            document_offsets=offsets_of(sentence_counts),
            sentence_offsets=offsets,
            pieces=pieces,
        )

    def by_identity(self) -> "TokenizedDocuments":
        """Sorts by identity; documents of one identity by what they hold."""
        order = np.argsort(self.identities, kind="stable")
        sorted_ids = self.identities[order]
        same = np.flatnonzero(sorted_ids[1:] == sorted_ids[:-1])
        # Nearly always these are copies of one text. That two texts share an
        # identity becomes likely with billions of documents.
        for group in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1):
            if group.size:
                part = slice(group[0], group[-1] + 2)
                order[part] = sorted(order[part], key=self._content)
        return self.take(order)

    def _content(self, document):
        start, stop = self.document_offsets[document : document + 2]
        offsets = self.sentence_offsets[start : stop + 1]
        pieces = self.pieces[offsets[0] : offsets[-1]]
        return pieces.tolist(), (offsets - offsets[0]).tolist()


def concatenate(parts: Sequence[TokenizedDocuments]) -> TokenizedDocuments:
    """Puts documents together, one part after the other.

    Args:
        parts: sequence of `TokenizedDocuments`; it may be empty.

    Returns:
        `TokenizedDocuments`.
    """
    if not parts:
        nothing = np.zeros(0, "int64")
        start = offsets_of(nothing)
        return TokenizedDocuments(nothing, start, start, nothing)
    counts = [
        np.concatenate([np.diff(getattr(part, name)) for part in parts])
        for name in ("document_offsets", "sentence_offsets")
    ]
    return TokenizedDocuments(
        identities=np.concatenate([part.identities for part in parts]),
        document_offsets=offsets_of(counts[0]),
        sentence_offsets=offsets_of(counts[1]),
        pieces=np.concatenate([part.pieces for part in parts]),
    )


def to_bytes(documents: TokenizedDocuments) -> bytes:
    """Packs documents for a journey to another machine.

    Args:
        documents: `TokenizedDocuments`.

    Returns:
        bytes.
    """
    header = [
        documents.num_documents,
        documents.num_sentences,
        documents.pieces.itemsize,
    ]
    arrays = (
        np.array(header, "<i8"),
        documents.identities.astype("<i8"),
        np.diff(documents.document_offsets).astype("<i4"),
        np.diff(documents.sentence_offsets).astype("<i4"),
        documents.pieces.astype(f"<u{documents.pieces.itemsize}"),
    )
    return b"".join(array.tobytes() for array in arrays)


def from_bytes(content: bytes) -> TokenizedDocuments:
    """Unpacks what `to_bytes` packed.

    Args:
        content: bytes.

    Returns:
        `TokenizedDocuments`.
    """
    position = 0

    def read(dtype, count):
        nonlocal position
        array = np.frombuffer(content, dtype, count, position)
        position += array.nbytes
        return array

    num_documents, num_sentences, itemsize = read("<i8", 3).tolist()
    return TokenizedDocuments(
        identities=read("<i8", num_documents),
        document_offsets=offsets_of(read("<i4", num_documents)),
        sentence_offsets=offsets_of(read("<i4", num_sentences)),
        pieces=read(f"<u{itemsize}", -1),
    )


def identity_of(text: str) -> int:
    """Hashes a document's lines, joined by newlines, with BLAKE2b.

    Args:
        text: string.

    Returns:
        The digest of 8 bytes as a signed integer, lowest byte first.
    """
    digest = hashlib.blake2b(
        text.encode(errors="surrogatepass"), digest_size=_IDENTITY_BYTES
    )
    return int.from_bytes(digest.digest(), "little", signed=True)


def shards_of(identities: np.ndarray, num_shards: int) -> np.ndarray:
    """Says to which shard each document goes.

    Args:
        identities: int64 array of shape `(num_documents,)`.
        num_shards: int.

    Returns:
        int64 array of shape `(num_documents,)`.
    """
    # Mixed once more: the order inside a shard must not follow its number.
    mixed = mix(np.asarray(identities, "int64").view("uint64"))
    return (mixed % np.uint64(num_shards)).astype("int64")


def piece_dtype(vocabulary_size: int) -> np.dtype:
    """The smallest type that holds a token id and whether a word starts.

    Args:
        vocabulary_size: int.

    Returns:
        uint16 or uint32.
    """
    return np.dtype("uint16" if vocabulary_size <= 1 << 15 else "uint32")


def offsets_of(counts: np.ndarray) -> np.ndarray:
    """Running totals that begin at 0.

    Args:
        counts: integer array of shape `(n,)`.

    Returns:
        int64 array of shape `(n + 1,)`.
    """
    offsets = np.zeros(len(counts) + 1, "int64")
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _ranges(starts, counts):
    """Indices of ranges, one after the other: [5, 0], [2, 3] -> 5 6 0 1 2."""
    total = offsets_of(counts)
    shift = np.repeat(starts - total[:-1], counts)
    return np.arange(total[-1]) + shift
