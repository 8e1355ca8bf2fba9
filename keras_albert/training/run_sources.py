"""Where the data of a run comes from: a corpus, or prepared folders."""

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
    """
    _check_sources(corpus, tokenizer, data, evaluation_corpus, evaluation_data)
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
