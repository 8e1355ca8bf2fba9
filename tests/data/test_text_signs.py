"""Signs of text that was not cleaned, one by one."""

import pytest

from keras_albert.data.text_signs import find_signs


@pytest.mark.parametrize(
    "line, signs",
    [
        ("Plain text, 3 < 4 & 5 > 2. It’s “fine” – naïve.", []),
        ("中文，没有问题。", []),
        ("tab\there\u3000and there", []),
        ("a\x07b", ["control_characters"]),
        ("a\x85b", ["control_characters"]),
        ("a <br/> b</p>", ["html_tags"]),
        ("AT&amp;T &#8211; x", ["html_entities"]),
        ("see https://a.org or www.b.org", ["links"]),
        ("[[Link|text]]", ["wiki_markup"]),
        ("na\ufffdve", ["replacement_characters"]),
        ("naÃ¯ve", ["misread_utf8"]),
        ("itâ€™s", ["misread_utf8"]),
        ("<a href='http://x'>", ["html_tags", "links"]),
    ],
)
def test_signs(line, signs):
    assert find_signs(line) == signs
