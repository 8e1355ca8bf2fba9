"""What a pretraining run reads: text in memory, or prepared folders.

    text      files or documents -> tokens in memory -> batches of any length
    prepared  one folder per sequence length, read as it goes

Both give batches from a step on, held-out batches, and counts.
"""

import dataclasses
import hashlib
from pathlib import Path

import numpy as np

from keras_albert.data.corpus import are_files
from keras_albert.data.corpus import iterate_documents
from keras_albert.data.corpus import read_documents
from keras_albert.data.counter_random import derive_key
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset
from keras_albert.data.shards import MANIFEST_FILE
from keras_albert.data.shards import read_token_counts
from keras_albert.data.shards import verify_shards
from keras_albert.data.tokenized_corpus import tokenize_corpus
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.training.floors import count_tokens


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """What text and prepared folders need alike to make batches."""

    objective: str
    seed: int
    evaluation_passes: int


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """What is read: a `TokenizedCorpus`, or a folder and which shards of it."""

    content: object
    shards: list[int] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run, ready to be read.

    Args:
        settings: `BatchSettings`.
        sources: dict from sequence length to `Source`; the key `None` stands
            for any length.
        held_out_sources: the same, of text that is never trained on.
        tokenizer: the tokenizer.
        token_counts: int array `(vocabulary_size,)`; of prepared folders with
            a held-out share, that share included.
        num_train_documents: int, or `None` if only the total is known.
        num_evaluation_documents: int or `None`.
        num_train_tokens: int.
    """

    settings: BatchSettings
    sources: dict
    held_out_sources: dict
    tokenizer: object
    token_counts: np.ndarray
    num_train_documents: int | None
    num_evaluation_documents: int | None
    num_train_tokens: int

    def batches(self, span, step):
        """Returns the endless batches of a phase, from a step of the run on.

        Args:
            span: `PhaseSpan`.
            step: int. A step of the phase.
        """
        # Each phase draws pairs and masks of its own.
        key = derive_key(self.settings.seed, span.index) >> np.uint64(1)
        source = self._source(self.sources, span)
        return pretraining_dataset(
            source.content,
            self.tokenizer,
            shards=source.shards,
            verify=False,
            batch_size=span.batch_size,
            sequence_length=span.sequence_length,
            objective=self.settings.objective,
            seed=int(key) if span.index else self.settings.seed,
            start_step=step - span.start,
        )

    def evaluation(self, span):
        """Returns the held-out batches of a phase, cut anew in each pass."""
        source = self._source(self.held_out_sources, span)
        passes = [
            evaluation_dataset(
                source.content,
                self.tokenizer,
                shards=source.shards,
                verify=False,
                batch_size=span.batch_size,
                sequence_length=span.sequence_length,
                objective=self.settings.objective,
                seed=self.settings.seed + index,
            )
            for index in range(self.settings.evaluation_passes)
        ]
        dataset = passes[0]
        for one_pass in passes[1:]:
            dataset = dataset.concatenate(one_pass)
        return dataset.cache()

    @staticmethod
    def _source(sources, span):
        return sources.get(None, sources.get(span.sequence_length))


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


def open_folders(folders, held_out_folders, held_out_share, spans, settings):
    """Makes a `RunData` of folders that `keras-albert prepare` wrote.

    Args:
        folders: list of paths, one for each sequence length of the phases.
        held_out_folders: the same, of text that is never trained on; or
            `None` to hold out the last shards of `folders`.
        held_out_share: float. Share of the shards to hold out, at least one.
        spans: list of `PhaseSpan`.
        settings: `BatchSettings`.

    Raises:
        FileNotFoundError: if a folder is missing or not complete.
        ValueError: if a length is missing, there are two of it, or the
            folders were made with different tokenizers.
    """
    opened = _by_length(folders, spans, "`data`")
    folder, manifest = next(iter(opened.values()))
    if held_out_folders is None:
        sources, held_out = _split_shards(opened, held_out_share)
        num_documents = None, None
    else:
        others = _by_length(held_out_folders, spans, "`evaluation_data`")
        _check_same_tokenizer(folder, manifest, others)
        sources, held_out = (
            {length: Source(path) for length, (path, _) in part.items()}
            for part in (opened, others)
        )
        _, other = next(iter(others.values()))
        num_documents = manifest.totals.documents, other.totals.documents
    _check_same_tokenizer(folder, manifest, opened)
    return RunData(
        settings=settings,
        sources=sources,
        held_out_sources=held_out,
        tokenizer=load_tokenizer(folder / manifest.tokenizer),
        token_counts=read_token_counts(folder, manifest),
        num_train_documents=num_documents[0],
        num_evaluation_documents=num_documents[1],
        num_train_tokens=_count_tokens(manifest, sources),
    )


def _split_shards(opened, share):
    """Holds out the last shards; each is a random part of the documents.

    The same documents are held out at every length only where the folders
    have the same number of shards, so that is asked for.
    """
    _check_share(share)
    numbers = {len(manifest.shards) for _, manifest in opened.values()}
    if len(numbers) > 1:
        raise ValueError(
            "Folders of several lengths must have one number of shards, so "
            f"that the same text is held out. Received: {sorted(numbers)}. "
            "Prepare them with the same --num-shards, or give "
            "`evaluation_data`."
        )
    (number,) = numbers
    if number < 2:
        raise ValueError(
            "Holding out text needs at least two shards. Received one. "
            "Prepare the corpus with more --num-shards, or give "
            "`evaluation_data`."
        )
    count = min(max(1, round(share * number)), number - 1)
    parts = range(number - count), range(number - count, number)
    return (
        {n: Source(path, list(part)) for n, (path, _) in opened.items()}
        for part in parts
    )


def _count_tokens(manifest, sources):
    source = next(iter(sources.values()))
    chosen = source.shards or range(len(manifest.shards))
    return sum(manifest.shards[index].num_tokens for index in chosen)


def _check_same_tokenizer(folder, manifest, opened):
    for path, other in opened.values():
        if other.tokenizer_fingerprint != manifest.tokenizer_fingerprint:
            raise ValueError(
                f"{path} was prepared with another tokenizer than {folder}. "
                "Prepare all folders of a run with the same one."
            )


def as_folders(folders):
    """Returns a list of paths from one path or several."""
    if isinstance(folders, (str, Path)):
        folders = [folders]
    return [Path(folder).expanduser() for folder in folders]


def folder_fingerprints(folders):
    """Hashes the manifests of prepared folders, which name every shard's hash.

    Args:
        folders: a path or list of paths, or `None`.

    Returns:
        List of hexadecimal strings, or `None`.
    """
    if folders is None:
        return None
    return [
        hashlib.sha256((folder / MANIFEST_FILE).read_bytes()).hexdigest()
        for folder in as_folders(folders)
    ]


def _by_length(folders, spans, name):
    found = {}
    for folder in folders:
        # Once for the run; every later reading relies on it.
        manifest = verify_shards(folder)
        length = manifest.sequence_length
        if length in found:
            raise ValueError(
                f"{name} has two folders of sequence length {length}: "
                f"{found[length][0]} and {folder}. Give one for each length."
            )
        found[length] = (folder, manifest)
    wanted = list(dict.fromkeys(span.sequence_length for span in spans))
    missing = [length for length in wanted if length not in found]
    if missing:
        raise ValueError(
            f"{name} has no folder of sequence length {missing[0]}. Received "
            f"the lengths {sorted(found)}. Prepare the corpus with "
            f"--sequence-length {missing[0]}, or train at the length you have."
        )
    return {length: found[length] for length in wanted}


def split_documents(documents, held_out_share, seed):
    """Returns `(train, held out)` lists of documents.

    Which documents are held out depends on their number and the seed, nothing
    else; at least one is, and at least one is left.
    """
    documents = list(documents)
    if len(documents) < 2:
        raise ValueError(
            "Holding out text for evaluation needs at least two documents. "
            f"Received {len(documents)}. Separate documents by a blank line, "
            "or pass an evaluation corpus of its own."
        )
    _check_share(held_out_share)
    count = min(
        max(1, round(held_out_share * len(documents))), len(documents) - 1
    )
    order = np.random.default_rng([seed, len(documents)]).permutation(
        len(documents)
    )
    held_out = set(order[:count].tolist())
    return (
        [d for i, d in enumerate(documents) if i not in held_out],
        [d for i, d in enumerate(documents) if i in held_out],
    )


def _check_share(held_out_share):
    if not 0 < held_out_share < 1:
        raise ValueError(
            "`held_out_share` must lie between 0 and 1. Received: "
            f"{held_out_share}."
        )


def read_text(corpus, evaluation_corpus, held_out_share, seed):
    """Returns the `(train, held out)` documents of files or iterables."""
    documents = _read(corpus)
    if evaluation_corpus is not None:
        return documents, _read(evaluation_corpus)
    return split_documents(documents, held_out_share, seed)


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
