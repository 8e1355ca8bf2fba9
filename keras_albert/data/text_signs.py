"""Signs in a line that its text was not cleaned: tags, links, lost letters."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SIGNS = {
    "html_tags": ("<", re.compile(r"</?[A-Za-z][^<>]{0,200}>")),
    "html_entities": ("&", re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,6});")),
    "links": ("", re.compile(r"https?://|www\.[A-Za-z]")),
    "wiki_markup": ("", re.compile(r"\[\[|\]\]|\{\{|\}\}|\{\||'''")),
    "replacement_characters": ("\ufffd", re.compile("\ufffd")),
    # UTF-8 that was read as Latin-1 or Windows-1252 and written again.
    "misread_utf8": ("", re.compile("â€[\u0080-\u2122]|Ã[\u0080-\u00bf]")),
}
SIGN_NAMES = ("control_characters", *_SIGNS)


def find_signs(line):
    """Names the signs in a line.

    Args:
        line: string.

    Returns:
        A list of names out of `SIGN_NAMES`.

    Example:

    >>> find_signs("See <b>this</b> &amp; that")
    ['html_tags', 'html_entities']
    """
    found = []
    if not line.isprintable() and _CONTROL.search(line):
        found.append("control_characters")
    for name, (hint, pattern) in _SIGNS.items():
        if hint in line and pattern.search(line):
            found.append(name)
    return found
