"""Prepared folders as the data of a run: one for each sequence length."""

import hashlib
from pathlib import Path

from keras_albert.data.shards import MANIFEST_FILE
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import read_token_counts
from keras_albert.data.shards import verify_shards
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.training.run_data import RunData
from keras_albert.training.run_data import Source
from keras_albert.training.run_data import check_share


class FolderSources:
    """Folders that `keras-albert prepare` wrote, verified when opened.

    Args:
        data: a path or a list of paths.
        evaluation_data: the same, of text that is never trained on; or `None`
            to hold out a share of the shards.
        held_out_share: float. Share of the shards to hold out.
    """

    def __init__(self, data, evaluation_data=None, held_out_share=0.02):
        self.data = data
        self.evaluation_data = evaluation_data
        self.held_out_share = held_out_share

    @property
    def sequence_length(self):
        """The length of the first folder."""
        return read_manifest(as_folders(self.data)[0]).sequence_length

    def open(self, spans, batch_settings):
        """Verifies the folders and loads their tokenizer."""
        self._run_data = open_folders(
            as_folders(self.data),
            None
            if self.evaluation_data is None
            else as_folders(self.evaluation_data),
            self.held_out_share,
            spans,
            batch_settings,
        )
        self.tokenizer = self._run_data.tokenizer

    def read(self):
        """Does nothing: shards are read as training goes."""

    def describe(self):
        """What of this decides the run's numbers, as plain values."""
        return {
            "corpus": _names(self.data),
            "evaluation_corpus": _names(self.evaluation_data),
            "data": folder_fingerprints(self.data),
            "evaluation_data": folder_fingerprints(self.evaluation_data),
            "held_out_share": self.held_out_share,
            "tokenizer": self.tokenizer.fingerprint(),
        }

    def load(self, progress=None):
        """Returns the `RunData`."""
        return self._run_data


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
    check_share(share)
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


def _names(folders):
    if folders is None:
        return None
    if isinstance(folders, (str, Path)):
        folders = [folders]
    return sorted(str(folder) for folder in folders)


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
