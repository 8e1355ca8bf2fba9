"""From the text of documents to token ids: what a worker process does.

Nothing here imports Keras or TensorFlow, so that a worker starts at once and
stays small.
"""

from collections.abc import Iterable

import numpy as np

from keras_albert.data.sentences import split_sentences
from keras_albert.data.shards import Totals
from keras_albert.data.tokenized_documents import TokenizedDocuments
from keras_albert.data.tokenized_documents import concatenate
from keras_albert.data.tokenized_documents import identity_of
from keras_albert.data.tokenized_documents import offsets_of
from keras_albert.data.tokenized_documents import piece_dtype
from keras_albert.data.word_alignment import SegmentedWords

WORD_SEGMENTERS = ("jieba",)
# Text that is encoded at once; what an encoder makes of it is far larger.
_CHARACTERS_PER_STEP = 1 << 17


class DocumentTokenizer:
    """Splits documents into sentences and these into token ids.

    Args:
        encoder: an encoder, see `keras_albert.tokenizers.load_encoder`.
        word_segmenter: string. `"jieba"`, or `None` for the tokenizer's own
            word starts.
    """

    def __init__(self, encoder, word_segmenter: str | None = None):
        self._encoder = encoder
        self._words = None
        if word_segmenter is not None:
            segment = load_word_segmenter(word_segmenter)
            self._words = SegmentedWords(encoder, segment)
        starts = np.asarray(encoder.word_starts)
        dtype = piece_dtype(encoder.vocabulary_size())
        self._pieces = (2 * np.arange(len(starts)) + starts).astype(dtype)

    def tokenize(self, texts: list[str]) -> tuple[TokenizedDocuments, Totals]:
        """Tokenizes documents.

        Args:
            texts: list of strings. The lines of each document, joined by
                newlines.

        Returns:
            `TokenizedDocuments`, without documents that hold no token, and
            `Totals` of what is in them.
        """
        parts, totals = [], Totals()
        for step in _steps(texts):
            documents, counted = self._tokenize_step(step)
            parts.append(documents)
            totals += counted
        return concatenate(parts), totals

    def _tokenize_step(self, texts):
        sentences, num_sentences, bytes_lost = [], [], 0
        for text in texts:
            before = len(sentences)
            for line in text.split("\n"):
                found = split_sentences(line)
                bytes_lost += lost_bytes(line, found)
                sentences += found
            num_sentences.append(len(sentences) - before)
        token_ids, offsets = self._encoder.encode_to_arrays(sentences)
        lengths = np.diff(offsets)
        kept = lengths > 0
        unaligned_before = self._num_unaligned()
        pieces = self._pieces_of(sentences, token_ids, offsets)
        kept_before = offsets_of(kept)
        counts = np.diff(kept_before[offsets_of(num_sentences)])
        has_tokens = counts > 0
        identities = np.array([identity_of(text) for text in texts], "int64")
        documents = TokenizedDocuments(
            identities=identities[has_tokens],
            document_offsets=offsets_of(counts[has_tokens]),
            sentence_offsets=offsets_of(lengths[kept]),
            pieces=pieces,
        )
        unknown = token_ids == self._encoder.unk_token_id
        return documents, Totals(
            documents=documents.num_documents,
            sentences=documents.num_sentences,
            tokens=documents.num_tokens,
            unknown_tokens=int(unknown.sum()),
            one_sentence_documents=int((counts == 1).sum()),
            sentences_without_tokens=int((~kept).sum()),
            unaligned_sentences=self._num_unaligned() - unaligned_before,
            bytes_read=sum(map(_num_bytes, texts)),
            bytes_lost=bytes_lost,
        )

    def _pieces_of(self, sentences, token_ids, offsets):
        if self._words is None:
            return self._pieces[token_ids]
        # Word by word in Python, as segmenters are.
        starts = [
            self._words.word_starts(sentence, token_ids[start:stop].tolist())
            for sentence, start, stop in zip(
                sentences, offsets, offsets[1:], strict=False
            )
            if stop > start
        ]
        starts = np.concatenate([np.zeros(0, "bool"), *starts])
        return (2 * token_ids + starts).astype(self._pieces.dtype)

    def _num_unaligned(self):
        return self._words.num_unaligned_sentences if self._words else 0


def lost_bytes(line: str, sentences: Iterable[str]) -> int:
    """Counts the text of a line that is in none of its sentences.

    Args:
        line: string.
        sentences: strings, in the order in which they stand in the line.

    Returns:
        int. UTF-8 bytes of the characters that are not white space. A
        sentence that does not stand in the line is no part of it.

    Example:

    >>> lost_bytes("One. Two. Three.", ["One.", "Three."])
    4
    """
    lost = end = 0
    for sentence in sentences:
        start = line.find(sentence, end)
        if start < 0:
            continue
        if start > end:
            lost += _num_bytes("".join(line[end:start].split()))
        end = start + len(sentence)
    if end < len(line):
        lost += _num_bytes("".join(line[end:].split()))
    return lost


def load_word_segmenter(name: str):
    """Returns the function from a sentence to its words.

    Args:
        name: string. `"jieba"`.

    Raises:
        ImportError: if the package is not installed.
        ValueError: if there is no such segmenter.
    """
    check_word_segmenter(name)
    import jieba

    jieba.setLogLevel("ERROR")
    jieba.initialize()
    return jieba.lcut


def check_word_segmenter(name: str | None) -> None:
    """Raises if there is no such segmenter, or its package is missing."""
    import importlib.util

    if name is None:
        return
    if name not in WORD_SEGMENTERS:
        raise ValueError(
            f"`word_segmenter` must be one of {', '.join(WORD_SEGMENTERS)}. "
            f"Received: {name!r}."
        )
    if importlib.util.find_spec(name) is None:
        raise ImportError(
            f"The word segmenter {name} is not installed. Install it with: "
            f"pip install {name}"
        )


def _steps(texts):
    """Cuts a list of texts into pieces of some total length."""
    step, size = [], 0
    for text in texts:
        if step and size + len(text) > _CHARACTERS_PER_STEP:
            yield step
            step, size = [], 0
        step.append(text)
        size += len(text)
    yield step


def _num_bytes(text):
    return len(text) if text.isascii() else len(text.encode())
