import pytest

from keras_albert.data.word_alignment import align_word_starts


@pytest.mark.parametrize(
    "pieces, words, expected",
    [
        (["北", "京", "大", "学"], ["北京", "大学"], [1, 0, 1, 0]),
        (["北京大", "学"], ["北京", "大学"], [1, 0]),  # one word of two
        (["北", "京大", "学"], ["北京", "大学"], [1, 0, 0]),
        (["", "北", "京"], ["北", "京"], [1, 0, 1]),  # a lone "▁"
        (["cafe", "s"], ["Cafés"], [1, 0]),
        (["don", '"', "t"], ["don't"], [1, 0, 0]),
        (["3", ".", "5"], ["３．５"], [1, 0, 0]),  # full-width digits
        (["fi", "n", "好"], ["ﬁn", " ", "好"], [1, 0, 1]),  # ligature
        ([None, "京", "大"], ["北京", "大"], [1, 0, 1]),
        (["我", None, "书"], ["我", "𠮷野", "书"], [1, 1, 1]),
        ([], [], []),
    ],
)
def test_pieces_are_matched_to_words_by_characters(pieces, words, expected):
    assert align_word_starts(pieces, words) == [bool(x) for x in expected]


@pytest.mark.parametrize(
    "pieces, words",
    [
        (["北", "京"], ["北", "平"]),
        (["北"], ["北京"]),
        (["北", "京"], ["北"]),
        ([None], []),
        ([None] * 9, list("北京大学北京大学啊")),  # too many to search
    ],
)
def test_different_texts_are_not_aligned(pieces, words):
    assert align_word_starts(pieces, words) is None
