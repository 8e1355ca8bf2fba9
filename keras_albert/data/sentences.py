"""Cuts English and Chinese text into sentences.

One regular expression lists the places where a sentence may end; a short
function then refuses those after an abbreviation, an initial or a number.
Nothing is rewritten: the sentences, joined, are the text but for whitespace.
"""

import re

_CLOSERS = "\"'”’»›)\\]}〉」』】〕）｝］”’"
_OPENERS = "\"'“‘«‹(\\[{〈「『【〔（《"

# A candidate is either a Chinese ending, which needs no space after it, or a
# Latin one, which needs a space and something that can begin a sentence. Both
# start with one class of characters: that is what `re` finds fast.
_WIDE = "。！？｡…।॥۔؟"
_CANDIDATE = re.compile(
    rf"[.!?{_WIDE}]"
    rf"(?:(?:(?<=[{_WIDE}])|(?<=[^\x00-\x7f][!?])|(?<=[!?])(?=[^\x00-\x7f”’]))"
    rf"[{_WIDE}!?]*+(?P<wide_close>[{_CLOSERS}]*+)"
    # Looking back keeps a long row of dots from being tried at each of them.
    rf"|(?<=[.!?])(?<![.!?][.!?])[.!?]*+…*+(?P<latin_close>[{_CLOSERS}]*+)\s+)"
)
_NEXT_WORD = re.compile(rf"[{_OPENERS}\s]*(\w*)(\W?)")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«—–/\u3000-\u9fff]+$")
_INITIALISM = re.compile(r"(?:\w\.)+\w")
_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\.")
# "》" ends a title, such as 《谁？》, not a sentence.
_GOES_ON = frozenset("，、；：,;:》.")
_LOOK_BACK = 40
_LONGEST_ENUMERATOR = 7  # "(xviii."


def _table(words):
    return frozenset(words.split())


# Before a name or in the middle of a sentence: never the end.
_NEVER_LAST = _table(
    """
    Mr Mrs Ms Mx Dr Prof Rev Fr St Ste Mt Ft Gen Col Lt Capt Cpl Sgt Maj Adm
    Cmdr Sen Rep Gov Pres Hon Messrs Mme Mlle Mgr Msgr Dept Asst
    v vs viz cf Cf ca Ca e.g E.g i.e I.e eg ie al approx esp incl orig ed eds
    trans feat
    """
)
# Before a number.
_BEFORE_NUMBER = _table(
    """
    No no Nos nos Nr nr Vol vol Vols vols Fig fig Figs figs Eq eq Eqs eqs p pp
    Ch ch Chap chap Sec sec Sect sect Art Op op Bd Pt c
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
    """
)
# May end a sentence: then the next word decides.
_MAY_BE_LAST = _table(
    """
    etc Inc Ltd Co Corp Bros plc Plc LLC Jr Sr Esq Ph.D Univ Ave Blvd Rd
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
    Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun ft lb lbs oz sq
    """
)
_STARTERS = _table(
    """
    A About According After All Also Although Among An And Another Any As At
    Because Before Between Both But By Despite Due During Each Early Even
    Every Following For From Further He Her Here His How However I If In
    Initially Instead It Its Just Later Like Many Meanwhile More Most My
    Nevertheless No Not Now Of On Once One Only Or Other Our Over She Since So
    Some Soon Still Such That The Their Then There Therefore These They This
    Those Though Three Through Throughout Thus To Today Two Under Unlike Until
    Upon We What When Where Whether Which While Who Why With Within Without
    You Your
    """
)

_ABBREVIATIONS = _NEVER_LAST | _BEFORE_NUMBER | _MAY_BE_LAST


def split_sentences(text: str) -> list[str]:
    """Splits text into sentences, English and Chinese, also mixed.

    Closing quotes and brackets stay with their sentence. Abbreviations
    ("Dr.", "U.S.", "3 p.m.", "No. 5"), initials, decimals, URLs and a mark
    that is followed by a lower-case word do not end a sentence.

    Args:
        text: string. A sentence, a paragraph or a whole document.

    Returns:
        A list of non-empty strings without surrounding whitespace. Joined,
        they equal `text` but for whitespace.

    Example:

    >>> split_sentences('Dr. Lee left at 3 p.m. "Why?" he asked. She slept.')
    ['Dr. Lee left at 3 p.m.', '"Why?" he asked.', 'She slept.']
    >>> split_sentences("他走了。“为什么？”没人知道。")
    ['他走了。', '“为什么？”', '没人知道。']
    """
    sentences = []
    start = 0
    for match in _CANDIDATE.finditer(text):
        wide = match.lastgroup == "wide_close"
        find_end = _wide_end if wide else _latin_end
        end = find_end(text, start, match)
        if end is None:
            continue
        sentences.append(text[start:end].strip())
        start = end
    rest = text[start:].strip()
    if rest:
        sentences.append(rest)
    return sentences


def _wide_end(text, start, match):
    """Where the sentence of a Chinese mark ends; None where it goes on."""
    mark_end, end = match.span("wide_close")
    mark = text[match.start() : mark_end]
    following = text[end : end + 2].lstrip()[:1]
    if following and following in _GOES_ON:
        return None
    if following.isascii() and following and mark.strip("…!?") == "":
        spaced = text[end] == " "
        if not (spaced and _can_start(text, end)):
            return None
    if '"' in match["wide_close"] and not _quote_is_open(text, start, match):
        return mark_end
    return end


def _latin_end(text, start, match):
    """Where the sentence of a Latin mark ends; None where it goes on."""
    end = match.end()
    if end == len(text):
        return end
    if not "A" <= text[end] <= "Z" and not _can_start(text, end):
        return None
    place = match.start()
    if text[place] != "." or match.end("latin_close") > place + 1:
        return end
    if _ends_in_plain_word(text, start, place):
        return end
    window = text[max(start, place - _LOOK_BACK) : place]
    last = _LAST_WORD.search(window)
    if last is None:
        return end
    following = _NEXT_WORD.match(text, end)
    if _is_abbreviation(last.group(), following):
        return None
    if _ENUMERATOR.fullmatch(text[start : place + 1].lstrip()):
        return None  # "1. The first point"
    return end


def _ends_in_plain_word(text, start, place):
    """Whether a quick look shows no abbreviation and no enumerator."""
    first = max(start, place - _LOOK_BACK)
    word = text[max(first, text.rfind(" ", first, place) + 1) : place]
    return (
        len(word) > 1
        and word.isascii()
        and word.isalnum()
        and word not in _ABBREVIATIONS
        and place - start > _LONGEST_ENUMERATOR
        and not text[start].isspace()
    )


def _is_abbreviation(word, following):
    next_word, after_next = following.groups()
    if word in _BEFORE_NUMBER and next_word[:1].isdigit():
        return True
    if word in _NEVER_LAST:
        return True
    initial = len(word) == 1 and word.isupper()
    if initial or word in _MAY_BE_LAST or _INITIALISM.fullmatch(word):
        return next_word not in _STARTERS or after_next == "."
    return False


def _can_start(text, position):
    """Whether the text at a position can begin a sentence."""
    following = _NEXT_WORD.match(text, position)
    word = following[1]
    return not word[:1].islower() and (
        bool(word) or following[2] not in _GOES_ON or not following[2]
    )


def _quote_is_open(text, start, match):
    return text.count('"', start, match.start()) % 2 == 1
