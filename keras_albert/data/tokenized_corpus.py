"""A corpus as token ids: four flat arrays and two counters.

documents -> sentences -> tokenizer.encode_batch -> TokenizedCorpus

    document_offsets   [0,        2,  3]      in sentences
    sentence_offsets   [0,    4,  6,  9]      in tokens
    token_ids          [t t t t  t t  t t t]
    word_starts        [1 0 1 1  1 0  1 1 0]
"""

import dataclasses
import hashlib
import os
import tempfile
from array import array
from collections.abc import Callable
from collections.abc import Iterable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from keras_albert.data.corpus import iterate_documents
from keras_albert.data.sentences import split_sentences
from keras_albert.data.word_alignment import SegmentedWords

_SENTENCES_PER_BATCH = 2048
_FORMAT_VERSION = 1


@dataclasses.dataclass(frozen=True)
class CorpusSummary:
    """What a tokenized corpus holds, for a look before training."""

    num_documents: int
    num_sentences: int
    num_tokens: int
    num_one_sentence_documents: int
    unknown_rate: float
    num_unaligned_sentences: int


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedCorpus:
    """Documents and sentences as flat arrays of token ids.

    Special tokens are not in it: they are added when batches are made.

    Args:
        token_ids: int32 array of shape `(num_tokens,)`.
        word_starts: bool array of shape `(num_tokens,)`. Whether the token
            starts a word, the unit that masking keeps whole.
        sentence_offsets: int64 array of shape `(num_sentences + 1,)`.
            Sentence `i` is `token_ids[offsets[i]:offsets[i + 1]]`.
        document_offsets: int64 array of shape `(num_documents + 1,)`, counted
            in sentences.
        num_unknown_tokens: int. Tokens that stand for unknown text.
        num_unaligned_sentences: int. Sentences in which the word segmenter
            and the tokenizer disagreed about the text, so that the
            tokenizer's own word starts were kept.
        tokenizer_fingerprint: string. `fingerprint()` of the tokenizer.
    """

    token_ids: np.ndarray
    word_starts: np.ndarray
    sentence_offsets: np.ndarray
    document_offsets: np.ndarray
    num_unknown_tokens: int = 0
    num_unaligned_sentences: int = 0
    tokenizer_fingerprint: str = ""

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.document_offsets) - 1

    @property
    def num_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_offsets) - 1

    @property
    def num_tokens(self) -> int:
        """Number of tokens."""
        return len(self.token_ids)

    @property
    def summary(self) -> CorpusSummary:
        """Counts of documents, sentences and tokens, and what to watch."""
        one_sentence = np.diff(self.document_offsets) == 1
        return CorpusSummary(
            num_documents=self.num_documents,
            num_sentences=self.num_sentences,
            num_tokens=self.num_tokens,
            num_one_sentence_documents=int(one_sentence.sum()),
            unknown_rate=self.num_unknown_tokens / max(1, self.num_tokens),
            num_unaligned_sentences=self.num_unaligned_sentences,
        )

    def fingerprint(self) -> str:
        """Hash of all that decides what is learnt from it, in hexadecimal."""
        digest = hashlib.sha256(self.tokenizer_fingerprint.encode())
        for values in (
            self.token_ids,
            self.word_starts,
            self.sentence_offsets,
            self.document_offsets,
        ):
            digest.update(np.ascontiguousarray(values))
        return digest.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Writes the corpus to one `.npz` file, which appears when complete.

        Args:
            path: Name of the file; its folder is made if needed.

        Returns:
            The path written to.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}."
        )
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, format_version=_FORMAT_VERSION, **vars(self))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    @classmethod
    def load(cls, path: str | Path) -> "TokenizedCorpus":
        """Reads a corpus that `save` wrote.

        Args:
            path: Name of the file.

        Returns:
            A `TokenizedCorpus`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is not a tokenized corpus.
        """
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"The corpus file {path} does not exist.")
        try:
            with np.load(path, allow_pickle=False) as file:
                stored = {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ValueError(
                f"{path} is not a tokenized corpus: {error}. "
                "Write it with `TokenizedCorpus.save`."
            ) from error
        version = int(stored.pop("format_version", -1))
        names = {field.name for field in dataclasses.fields(cls)}
        if version != _FORMAT_VERSION or set(stored) != names:
            raise ValueError(
                f"{path} is not a tokenized corpus of format "
                f"{_FORMAT_VERSION}. Received format {version} with "
                f"{sorted(stored)}. Write it again with `tokenize_corpus` and "
                "`save`."
            )
        scalars = {n: v.item() for n, v in stored.items() if v.ndim == 0}
        return cls(**{**stored, **scalars})


def tokenize_corpus(
    documents: Iterable,
    tokenizer,
    word_segmenter: Callable[[str], Iterable[str]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> TokenizedCorpus:
    """Splits documents into sentences and these into token ids.

    Documents are streamed; only their ids are kept (5 bytes a token).

    Args:
        documents: Iterable of documents, for example from `read_documents`.
            A document is a string or a list of lines.
        tokenizer: `AlbertTokenizer` or `AlbertWordPieceTokenizer`.
        word_segmenter: function from a sentence to its words, such as
            `jieba.cut`. With it, words of a language without spaces are
            masked whole. Defaults to `None`: the tokenizer's word starts.
        progress: function that is called with the number of documents done
            since its last call. Defaults to `None`.

    Returns:
        A `TokenizedCorpus`.

    Raises:
        ValueError: If there are no documents, or none of them holds a token.

    Example:

    ```python
    documents = keras_albert.data.read_documents("corpus/*.txt.gz")
    corpus = keras_albert.data.tokenize_corpus(documents, tokenizer)
    print(corpus.summary)
    corpus.save("corpus.npz")
    ```
    """
    builder = _Builder(tokenizer, word_segmenter)
    batch = []
    num_batched = 0
    for document in iterate_documents(documents):
        sentences = [s for line in document for s in split_sentences(line)]
        batch.append(sentences)
        num_batched += len(sentences)
        if num_batched >= _SENTENCES_PER_BATCH:
            builder.add(batch)
            if progress is not None:
                progress(len(batch))
            batch, num_batched = [], 0
    builder.add(batch)
    if progress is not None and batch:
        progress(len(batch))
    return builder.finish()


class _Builder:
    """Appends documents to growing arrays."""

    def __init__(self, tokenizer, word_segmenter):
        self.tokenizer = tokenizer
        self.words = word_segmenter and SegmentedWords(
            tokenizer, word_segmenter
        )
        self.token_ids = array("i")
        self.word_starts = array("b")
        self.sentence_offsets = array("q", [0])
        self.document_offsets = array("q", [0])
        self._table = np.asarray(tokenizer.word_starts)

    def add(self, documents):
        sentences = [s for document in documents for s in document]
        encoded = iter(self.tokenizer.encode_batch(sentences))
        for document in documents:
            for sentence in document:
                self._add_sentence(sentence, next(encoded))
            num_sentences = len(self.sentence_offsets) - 1
            if num_sentences > self.document_offsets[-1]:
                self.document_offsets.append(num_sentences)

    def _add_sentence(self, sentence, ids):
        if not ids:
            return  # nothing but characters that normalisation removes
        self.token_ids.extend(ids)
        self.sentence_offsets.append(len(self.token_ids))
        if self.words:
            starts = self.words.word_starts(sentence, ids)
            self.word_starts.extend(starts.tolist())

    def finish(self):
        token_ids = np.array(self.token_ids, "int32")
        if not token_ids.size:
            raise ValueError(
                "The corpus holds no documents with text. Check that the files "
                "are the right ones and that their lines are not blank."
            )
        if self.words:
            word_starts = np.array(self.word_starts, "bool")
        else:
            word_starts = self._table[token_ids]
        unknown = token_ids == self.tokenizer.unk_token_id
        return TokenizedCorpus(
            token_ids=token_ids,
            word_starts=word_starts.astype("bool"),
            sentence_offsets=np.array(self.sentence_offsets, "int64"),
            document_offsets=np.array(self.document_offsets, "int64"),
            num_unknown_tokens=int(unknown.sum()),
            num_unaligned_sentences=(
                self.words.num_unaligned_sentences if self.words else 0
            ),
            tokenizer_fingerprint=self.tokenizer.fingerprint(),
        )
