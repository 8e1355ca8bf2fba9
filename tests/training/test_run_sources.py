import pytest

from keras_albert.training.run_folders import FolderSources
from keras_albert.training.run_sources import choose_sources
from keras_albert.training.run_text import TextSources

NOTHING = {
    "corpus": None,
    "tokenizer": None,
    "data": None,
    "evaluation_corpus": None,
    "evaluation_data": None,
    "held_out_share": 0.1,
    "word_segmenter": None,
}


def test_a_corpus_is_text_and_data_is_folders():
    text = choose_sources(**{**NOTHING, "corpus": "a.txt", "tokenizer": "t"})
    folders = choose_sources(**{**NOTHING, "data": "d", "evaluation_data": "e"})

    assert isinstance(text, TextSources)
    assert (text.corpus, text.held_out_share) == ("a.txt", 0.1)
    assert isinstance(folders, FolderSources)
    assert (folders.data, folders.evaluation_data) == ("d", "e")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, "Give a `corpus` and a `tokenizer`"),
        ({"corpus": "a.txt"}, "Received: corpus"),
        ({"data": "d", "corpus": "a.txt"}, "Received also: corpus"),
        ({"evaluation_data": "d"}, "goes with `data`"),
    ],
)
def test_text_and_prepared_data_exclude_each_other(changes, message):
    with pytest.raises(ValueError, match=message):
        choose_sources(**{**NOTHING, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"corpus": 3}, "iterable of documents. Received: corpus=3"),
        ({"evaluation_corpus": 3}, "Received: evaluation_corpus=3"),
        ({"tokenizer": 3}, "or the path of one. Received: tokenizer=3"),
        ({"word_segmenter": 3}, "to its words. Received: word_segmenter=3"),
        (
            {"data": 3, "corpus": None, "tokenizer": None},
            "a list of paths. Received: data=3",
        ),
        (
            {"data": [], "corpus": None, "tokenizer": None},
            "a list of paths. Received: data=",
        ),
    ],
)
def test_what_is_no_source_is_refused(changes, message):
    text = {"corpus": ["a.txt"], "tokenizer": "vocab.txt"}

    with pytest.raises(TypeError, match=message):
        choose_sources(**{**NOTHING, **text, **changes})
