"""The table is cut by hand: each text is written as its sentences."""

import random

import pytest

from keras_albert.data.sentences import split_sentences

ENGLISH = [
    ["Dr. Lee met Mr. J. R. Smith.", "They left at 3 p.m. and slept."],
    ["He lives in the U.S.", "The army came."],
    ["The U.S. Army came.", "It left."],
    ["See No. 5 and Fig. 3.", "He said no.", "Then he went."],
    ["Pi is 3.14 or so.", "See https://a.org/b.c?d=e.f now.", "OK?"],
    ['"Really!"', "She said (it is so.)", "Next came [all of it.]", "End"],
    ['"Why?" he asked.', "Nobody knew."],
    ["“We know.”", "‘So do I.’", "Fine."],
    ["I thought… maybe not.", "Wait…", "Then go.", "No... wait."],
    ["What?!", "Yes!!", "Yahoo! is a name."],
    ["He met J. A. Smith.", "He met J. S. Bach."],
    ["Use a rope, e.g. Manila rope, i.e. Abaca.", "It holds."],
    ["Smith et al. 2010 agree, cf. Jones.", "It was c. 1720."],
    ["Acme Inc. Chicago sells it.", "He left Acme Inc.", "He was rich."],
    ["1. The first point.", "2. The second point."],
    ["12. The next point.", "(XVIII. The last point.", "End."],
    ["World War I.", "The end.", "It has Vitamin C.", "It helps."],
    ["Samuel J. St. Clere Raymond died.", "In Jan. 1900 he was 80."],
    ["J. A. Smith Jr. wrote it.", "A. B. Ray read it."],
    ["It cost $5.", "Nobody paid."],
    ["It began in 1999.", "2000 was better."],
    ["The cat sat.", "Dogs ran."],
    ["Version 2.0.1 of node.js is out.", "Get it."],
    ["Unended"],
]
CHINESE = [
    ["他走了。", "“为什么？”", "没人知道。"],
    ["他说：“走吧！”", "然后走了。"],
    ["真的吗？", "是的……", "也许，不过。"],
    ["《谁是谁？》是一部电影。", "好！"],
    ["等等……，他说。", "好（真的。）", "完"],
    ["什么？！", "没有！！！", "唉。"],
    ["他走了。", '"为什么？"', "没人知道。"],
    ["圆周率是3.14。", "见https://a.cn/b.c。", "J.P.摩根是人。"],
    ["Hello!", "你好!", "再见!"],
    ["他在U.S. Army服役。", "He left.", "他走了。"],
    ["「好。」", "『是吗？』", "完。"],
]
WIDE_APART = [["वह गया।", "वह आया।"], ["هل ذهب؟", "نعم۔"]]


@pytest.mark.parametrize("sentences", ENGLISH + WIDE_APART)
def test_english_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("sentences", CHINESE)
def test_chinese_sentences_need_no_space(sentences):
    text = "".join(sentences).replace("。He left.", "。 He left. ")

    assert split_sentences(text) == sentences


def test_a_number_after_blanks_is_no_sentence():
    assert split_sentences("          12. The point.") == ["12. The point."]


@pytest.mark.parametrize("text", ["", " ", "\u3000\n", "\t"])
def test_blank_text_has_no_sentences(text):
    assert split_sentences(text) == []


@pytest.mark.parametrize("text", [".", "...", "。。。", "?! ?!", '".', "…"])
def test_marks_alone_are_kept(text):
    assert "".join(split_sentences(text)) == text.replace(" ", "")


def test_nothing_is_lost_or_changed_in_random_text():
    draw = random.Random(7)
    parts = list("aB1 .!?…。！？”\"')》（，\u3000\n《中é") + [
        "Dr.",
        "U.S.",
        " The ",
    ]
    texts = ["".join(draw.choices(parts, k=40)) for _ in range(3000)]

    pieces = [split_sentences(text) for text in texts]

    assert all(p == p.strip() and p for piece in pieces for p in piece)
    assert ["".join("".join(p).split()) for p in pieces] == [
        "".join(text.split()) for text in texts
    ]


@pytest.mark.parametrize("text", ["." * 50000, "a. " * 20000, "。" * 50000])
def test_odd_text_takes_linear_time(text):
    joined = "".join(split_sentences(text))

    assert joined.replace(" ", "") == text.replace(" ", "")
