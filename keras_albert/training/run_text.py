"""Text as the data of a run: read, held out in part, tokenized in memory."""

from pathlib import Path

import numpy as np

from keras_albert.data.corpus import are_files
from keras_albert.data.corpus import iterate_documents
from keras_albert.data.corpus import read_documents
from keras_albert.data.tokenized_corpus import tokenize_corpus
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.training.floors import count_tokens
from keras_albert.training.run_data import RunData
from keras_albert.training.run_data import Source
from keras_albert.training.run_data import check_share

DEFAULT_LENGTH = 128


class TextSources:
    """A corpus and a tokenizer, read and tokenized when asked to.

    Args:
        corpus: files or documents.
        tokenizer: a tokenizer or the path of one.
        evaluation_corpus: files or documents that are never trained on, or
            `None` to hold out a share of the corpus.
        held_out_share: float. Share of the documents to hold out.
        word_segmenter: as in `tokenize_corpus`.
    """

    sequence_length = DEFAULT_LENGTH

    def __init__(
        self,
        corpus,
        tokenizer,
        evaluation_corpus=None,
        held_out_share=0.02,
        word_segmenter=None,
    ):
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.evaluation_corpus = evaluation_corpus
        self.held_out_share = held_out_share
        self.word_segmenter = word_segmenter

    def open(self, spans, batch_settings):
        """Loads the tokenizer."""
        self._batch_settings = batch_settings
        if not hasattr(self.tokenizer, "encode_batch"):
            self.tokenizer = load_tokenizer(self.tokenizer)

    def read(self):
        """Finds the text; `ValueError` where there is none to hold out."""
        self._documents = read_text(
            self.corpus,
            self.evaluation_corpus,
            self.held_out_share,
            self._batch_settings.seed,
            # The second segment of a pair comes from another document.
            fewest=2 if self._batch_settings.objective == "nsp" else 1,
        )

    def describe(self):
        """What of this decides the run's numbers, as plain values."""
        return {
            "corpus": describe_corpus(self.corpus),
            "evaluation_corpus": describe_corpus(self.evaluation_corpus),
            "data": None,
            "evaluation_data": None,
            "held_out_share": self.held_out_share,
            "tokenizer": self.tokenizer.fingerprint(),
        }

    def load(self, progress=None):
        """Returns the `RunData`; `progress` is a `rich.progress.Progress`."""
        return tokenize_text(
            *self._documents,
            self.tokenizer,
            self._batch_settings,
            self.word_segmenter,
            progress,
        )


def tokenize_text(
    train, held_out, tokenizer, settings, word_segmenter=None, progress=None
):
    """Tokenizes text into a `RunData` in memory.

    Args:
        train: iterable of documents.
        held_out: iterable of documents.
        tokenizer: the tokenizer.
        settings: `BatchSettings`.
        word_segmenter: as in `tokenize_corpus`.
        progress: `rich.progress.Progress`, optional.
    """
    train, held_out = (
        _tokenize(part, tokenizer, word_segmenter, progress, description)
        for part, description in (
            (train, "tokenizing"),
            (held_out, "tokenizing held-out text"),
        )
    )
    return RunData(
        settings=settings,
        sources={None: Source(train)},
        held_out_sources={None: Source(held_out)},
        tokenizer=tokenizer,
        token_counts=count_tokens(train.token_ids, tokenizer.vocabulary_size()),
        num_train_documents=train.num_documents,
        num_evaluation_documents=held_out.num_documents,
        num_train_tokens=train.num_tokens,
    )


def split_documents(documents, held_out_share, seed, fewest=1):
    """Returns `(train, held out)` lists of documents.

    Which documents are held out depends on their number and the seed, nothing
    else; at least `fewest` are, and at least as many are left.
    """
    documents = list(documents)
    if len(documents) < 2 * fewest:
        raise ValueError(
            f"Holding out text for evaluation needs at least {2 * fewest} "
            f"documents. Received {len(documents)}. Separate documents by a "
            "blank line, or pass an evaluation corpus of its own."
        )
    check_share(held_out_share)
    count = min(
        max(fewest, round(held_out_share * len(documents))),
        len(documents) - fewest,
    )
    order = np.random.default_rng([seed, len(documents)]).permutation(
        len(documents)
    )
    held_out = set(order[:count].tolist())
    return (
        [d for i, d in enumerate(documents) if i not in held_out],
        [d for i, d in enumerate(documents) if i in held_out],
    )


def read_text(corpus, evaluation_corpus, held_out_share, seed, fewest=1):
    """Returns the `(train, held out)` documents of files or iterables."""
    documents = _read(corpus)
    if evaluation_corpus is not None:
        return documents, _read(evaluation_corpus)
    return split_documents(documents, held_out_share, seed, fewest)


def describe_corpus(corpus):
    """Returns the sorted names of files, or `None` for documents."""
    if corpus is None or not are_files(corpus):
        return None
    if isinstance(corpus, (str, Path)):
        corpus = [corpus]
    return sorted(str(item) for item in corpus)


def _read(corpus):
    return (
        read_documents(corpus)
        if are_files(corpus)
        else iterate_documents(corpus)
    )


def _tokenize(documents, tokenizer, word_segmenter, progress, description):
    if progress is None:
        return tokenize_corpus(documents, tokenizer, word_segmenter)
    total = len(documents) if isinstance(documents, list) else None
    task = progress.add_task(description, total=total)
    corpus = tokenize_corpus(
        documents,
        tokenizer,
        word_segmenter,
        progress=lambda count: progress.advance(task, count),
    )
    progress.update(
        task, total=corpus.num_documents, completed=corpus.num_documents
    )
    return corpus
