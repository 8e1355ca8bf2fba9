"""Where the data of a run comes from: a corpus, or prepared folders."""

import os
from collections.abc import Iterable

from keras_albert.data.corpus import are_files
from keras_albert.training.run_folders import FolderSources
from keras_albert.training.run_text import TextSources


def choose_sources(
    *,
    corpus,
    tokenizer,
    data,
    evaluation_corpus,
    evaluation_data,
    held_out_share,
    word_segmenter,
):
    """Returns the `TextSources` or `FolderSources` of `pretrain`'s arguments.

    Nothing is read yet.

    Raises:
        ValueError: if neither or both of a corpus and prepared data are given.
        TypeError: for what is none of these.
    """
    _check_sources(corpus, tokenizer, data, evaluation_corpus, evaluation_data)
    _check_text(corpus=corpus, evaluation_corpus=evaluation_corpus)
    _check_folders(data=data, evaluation_data=evaluation_data)
    if not (
        tokenizer is None
        or hasattr(tokenizer, "encode_batch")
        or isinstance(tokenizer, (str, os.PathLike))
    ):
        raise TypeError(
            "`tokenizer` is a tokenizer or the path of one. Received: "
            f"tokenizer={tokenizer!r}."
        )
    if not (word_segmenter is None or callable(word_segmenter)):
        raise TypeError(
            "`word_segmenter` is a function from a sentence to its words. "
            f"Received: word_segmenter={word_segmenter!r}."
        )
    if data is not None:
        return FolderSources(data, evaluation_data, held_out_share)
    return TextSources(
        corpus, tokenizer, evaluation_corpus, held_out_share, word_segmenter
    )


def _check_sources(corpus, tokenizer, data, evaluation_corpus, evaluation_data):
    text = {
        "corpus": corpus,
        "tokenizer": tokenizer,
        "evaluation_corpus": evaluation_corpus,
    }
    given = [name for name, value in text.items() if value is not None]
    if data is not None and given:
        raise ValueError(
            "Prepared `data` brings its own text and tokenizer. Received also: "
            f"{', '.join(given)}. Leave them out."
        )
    if data is None and evaluation_data is not None:
        raise ValueError(
            "`evaluation_data` goes with `data`. With a corpus, give "
            "`evaluation_corpus`."
        )
    if data is None and (corpus is None or tokenizer is None):
        raise ValueError(
            "Give a `corpus` and a `tokenizer`, or `data` that "
            "`keras-albert prepare` wrote. Received: "
            f"{', '.join(given) or 'neither'}."
        )


def _check_text(**sources):
    for name, source in sources.items():
        if not (
            source is None or are_files(source) or isinstance(source, Iterable)
        ):
            raise TypeError(
                f"`{name}` is the path of a file, a list of paths, or an "
                f"iterable of documents. Received: {name}={source!r}."
            )


def _check_folders(**sources):
    for name, source in sources.items():
        if not (source is None or (are_files(source) and source)):
            raise TypeError(
                f"`{name}` is the path of a prepared folder, or a list of "
                f"paths. Received: {name}={source!r}."
            )
