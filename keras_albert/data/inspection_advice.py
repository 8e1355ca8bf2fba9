"""Judges a `CorpusReport`: what forbids pretraining, and what to improve.

Each rule is one sentence, and is given only where it applies.
"""

from keras_albert.data.corpus_scanning import LONG_LINE

HUGE_REPEATED, NOTABLE_REPEATED = 0.5, 0.1
HUGE_UNKNOWN, NOTABLE_UNKNOWN = 0.1, 0.01
ALL_DOCUMENTS, MANY_DOCUMENTS = 0.98, 0.3
NOTABLE_SIGN = 0.01
SECOND_SCRIPT = 0.1
LONG_DOCUMENT = 5_000  # sentences
LONG_SENTENCE = 1_000  # characters
NOTHING, SMALL_CORPUS = 2_000, 3_000_000  # characters
# Scripts that are written without spaces between words.
UNSPACED = ("Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar")
LANGUAGES = {
    "Latin": "English or another language in Latin letters",
    "Han": "Chinese",
    "Kana": "Japanese",
    "Hangul": "Korean",
    "Cyrillic": "Russian or another language in Cyrillic letters",
    "Arabic": "Arabic, Persian, Urdu or another language in Arabic letters",
    "Devanagari": "Hindi or another language in Devanagari",
}


def guess_language(scripts):
    """Guesses the language from the shares of scripts.

    Args:
        scripts: dict from script to share, the largest first.

    Returns:
        A string; `"none"` without letters.

    Example:

    >>> guess_language({"Han": 0.6, "Kana": 0.4})
    'Japanese'
    """
    if not scripts:
        return "none"
    first = next(iter(scripts))
    # Japanese mixes the two; Chinese hardly knows the second.
    if first == "Han" and scripts.get("Kana", 0) > 0.1:
        first = "Kana"
    return LANGUAGES.get(first, f"a language in {first} letters")


def has_spaces(scripts):
    """Whether most of the text has spaces between its words."""
    return next(iter(scripts), "") not in UNSPACED


def corpus_problems(report):
    """Lists what would make pretraining meaningless or impossible.

    Args:
        report: `CorpusReport`.

    Returns:
        A list of sentences, empty for a usable corpus.
    """
    found = [*_file_problems(report.files)]
    if not report.scripts:
        # What is wrong with a file may well be why.
        return found or ["There is no text: not one letter was found."]
    if report.num_characters < NOTHING:
        found.append(
            f"{report.num_characters:,} characters are too few to learn from."
        )
    one_sentence = _share(
        report.num_one_sentence_documents, report.num_measured_documents
    )
    if one_sentence >= ALL_DOCUMENTS:
        found.append(
            f"{_percent(one_sentence)} of the documents have one sentence, so "
            "there is no sentence order to learn: put the lines of a document "
            "together, with a blank line after each document only."
        )
    for name, repeats in (
        ("documents", report.documents),
        ("lines", report.lines),
    ):
        if repeats.share > HUGE_REPEATED:
            found.append(
                f"{_percent(repeats.share)} of the {name} repeat an earlier "
                "one: remove the copies, or the model learns them by heart "
                f"({_most_repeated(repeats)})."
            )
    unknown = _unknown_share(report)
    if unknown > HUGE_UNKNOWN:
        found.append(
            f"{_percent(unknown)} of the tokens are unknown to this "
            "tokenizer: it was made for other text; train one with "
            "`keras-albert train-tokenizer`."
        )
    return found


def _file_problems(files):
    for scan in files:
        if scan.damage:
            yield (
                f"{scan.path} cannot be read to its end ({scan.damage}): "
                "copy or compress it again."
            )
        elif not scan.num_text_lines and not scan.looks_like_utf16:
            blank = "holds only blanks" if scan.text_bytes else "is empty"
            yield f"{scan.path} {blank}: leave it out, or write it again."
        if scan.looks_like_utf16:
            yield (
                f"{scan.path} is UTF-16: convert it with "
                "`iconv -f utf-16 -t utf-8`."
            )
        elif scan.num_undecodable_lines:
            yield (
                f"{scan.path} is not UTF-8 in {scan.num_undecodable:,} places "
                f"on {_lines(scan.num_undecodable_lines)} "
                f"({_places(scan.undecodable_places)}): convert it with "
                "`iconv` from its encoding, such as gb18030 or latin-1."
            )
        if scan.num_bad_rows:
            yield (
                f"{scan.path} has {_lines(scan.num_bad_rows)} without JSON or "
                f"without the text field ({_places(scan.bad_row_places)}): "
                "name the field with `--text-field`, one object a line."
            )


def corpus_advice(report):
    """Lists what to improve, or to choose, with a usable corpus.

    Args:
        report: `CorpusReport`.

    Returns:
        A list of sentences.
    """
    if not report.scripts:
        return []
    rules = (
        _document_advice,
        _repeat_advice,
        _line_advice,
        _sign_advice,
        _script_advice,
        _token_advice,
    )
    return [advice for rule in rules for advice in rule(report)]


def _document_advice(report):
    share = _share(
        report.num_one_sentence_documents, report.num_measured_documents
    )
    if MANY_DOCUMENTS <= share < ALL_DOCUMENTS:
        yield (
            f"{_percent(share)} of the documents have one sentence: they "
            "teach words, but no sentence order; check for blank lines inside "
            "documents."
        )
    if report.sentences_per_document.largest > LONG_DOCUMENT:
        longest = report.sentences_per_document.largest
        yield (
            f"The longest document has {longest:,} sentences: if these are "
            "several texts, put a blank line between them, as no example "
            "should span two."
        )
    if NOTHING <= report.num_characters < SMALL_CORPUS:
        yield (
            f"{report.num_characters:,} characters are little: enough to try "
            "things out, but a useful model needs tens of millions."
        )


def _repeat_advice(report):
    for name, repeats in (
        ("documents", report.documents),
        ("lines", report.lines),
    ):
        if NOTABLE_REPEATED < repeats.share <= HUGE_REPEATED:
            yield (
                f"{_percent(repeats.share)} of the {name} repeat an earlier "
                "one: removing the copies saves training time "
                f"({_most_repeated(repeats)})."
            )


def _line_advice(report):
    long_lines = sum(scan.num_long_lines for scan in report.files)
    if long_lines:
        scan = max(report.files, key=lambda scan: scan.longest_line)
        yield (
            f"Lines of over {LONG_LINE:,} characters: {long_lines:,} (the "
            f"longest {scan.longest_line:,}, line {scan.longest_line_number} "
            f"of {scan.path}); check that line breaks were not lost."
        )
    if report.characters_per_sentence.quantile(0.95) > LONG_SENTENCE:
        yield (
            f"One in twenty sentences is over {LONG_SENTENCE:,} characters "
            "long: end marks seem to be missing, and a line break after each "
            "sentence would help."
        )
    windows = sum(scan.num_crlf_lines for scan in report.files)
    if windows:
        yield (
            f"Lines that end in CR LF, as on Windows: {windows:,}; harmless, "
            "they are read as line ends."
        )


_SIGN_ADVICE = {
    "html_tags": "hold HTML tags: remove them, keeping the text",
    "html_entities": "hold HTML entities such as &amp;: decode them",
    "links": "hold web addresses: consider a placeholder for them",
    "wiki_markup": "hold wiki markup: extract the plain text",
    "replacement_characters": "hold U+FFFD, which stands for letters that an "
    "earlier conversion lost: convert again from the source",
    "misread_utf8": "look like UTF-8 read in another encoding, as in “Ã©” for "
    "“é”: convert again from the source",
    "control_characters": "hold control characters: remove them",
}


def _sign_advice(report):
    for name, text in _SIGN_ADVICE.items():
        share = _share(report.signs[name], report.num_measured_lines)
        if share >= NOTABLE_SIGN:
            yield f"{_percent(share)} of the lines {text}."
        elif report.signs[name] and name in (
            "control_characters",
            "replacement_characters",
            "misread_utf8",
        ):
            yield f"A few lines ({report.whole(report.signs[name]):,}) {text}."


def _script_advice(report):
    first, *others = report.scripts
    second = [s for s in others if report.scripts[s] >= SECOND_SCRIPT]
    is_japanese = {first, *second} == {"Han", "Kana"}
    if second and not is_japanese:
        yield (
            f"The text mixes {first} ({_percent(report.scripts[first])}) and "
            f"{second[0]} ({_percent(report.scripts[second[0]])}): train the "
            "tokenizer on the same mixture, so that both get enough pieces."
        )
    unspaced = [s for s in (first, *second) if s in UNSPACED]
    if unspaced:
        words = (
            "a word segmenter, such as jieba, to mask whole words"
            if unspaced[0] == "Han"
            else "a word segmenter to mask whole words"
        )
        yield (
            f"{unspaced[0]} is written without spaces: choose a vocabulary "
            f"made for it, and consider {words}."
        )


def _token_advice(report):
    unknown = _unknown_share(report)
    if NOTABLE_UNKNOWN < unknown <= HUGE_UNKNOWN:
        yield (
            f"{_percent(unknown)} of the tokens are unknown to this "
            "tokenizer: one trained on this text would lose less."
        )
    if report.tokens is None:
        return
    per_word = report.tokens.num_tokens / max(1, report.num_words)
    if has_spaces(report.scripts) and per_word > 2:
        yield (
            f"A word takes {per_word:.1f} tokens: a tokenizer trained on this "
            "text would fit more of it into an example."
        )


def _most_repeated(repeats):
    pairs = repeats.most_repeated(1)
    return "; ".join(f"“{text}” {times:,} times" for text, times in pairs)


def _unknown_share(report):
    if report.tokens is None:
        return 0
    return _share(report.tokens.num_unknown, report.tokens.num_tokens)


def _share(part, total):
    return part / max(1, total)


def _percent(share):
    return f"{100 * share:.1f} %"


def _lines(number):
    return "1 line" if number == 1 else f"{number:,} lines"


def _places(places):
    return f"line {', '.join(map(str, places))}"
