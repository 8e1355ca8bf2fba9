"""The judges: Google's two tokenizers, step by step, in plain Python.

Written anew from the description of the steps, slow and without tables, so
that they share nothing with the code under test.
"""

import unicodedata


def preprocess_text(text):
    text = " ".join(text.split())
    text = unicodedata.normalize("NFKD", text)
    return "".join(c for c in text if unicodedata.combining(c) == 0).lower()


def encode_pieces(processor, text):
    """SentencePiece, then the rule for a digit before a comma."""
    result = []
    for piece in processor.encode(text, out_type=str):
        if len(piece) > 1 and piece.endswith(",") and piece[-2].isdigit():
            inner = processor.encode(piece[:-1].replace("▁", ""), out_type=str)
            if not piece.startswith("▁") and inner[0].startswith("▁"):
                inner = ([inner[0][1:]] if inner[0] != "▁" else []) + inner[1:]
            result.extend([*inner, ","])
        else:
            result.append(piece)
    return result


def encode_english(processor, text):
    pieces = encode_pieces(processor, preprocess_text(text))
    return [processor.piece_to_id(piece) for piece in pieces]


def split_chinese(text):
    """The words of the basic tokenizer, lower-casing."""
    cleaned = ""
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c) == "Zs":
            cleaned += " "
        elif unicodedata.category(c) in ("Cc", "Cf") or c == "\ufffd":
            continue
        else:
            cleaned += f" {c} " if _is_ideograph(ord(c)) else c
    words = []
    for token in cleaned.split():
        token = unicodedata.normalize("NFD", token.lower())
        glue = False
        for c in token:
            if unicodedata.category(c) == "Mn":
                continue
            if _is_mark(c):
                words.append(c)
                glue = False
            elif glue:
                words[-1] += c
            else:
                words.append(c)
                glue = True
    return " ".join(words).split()


def encode_chinese(vocabulary, text):
    known = {piece: i for i, piece in enumerate(vocabulary)}
    ids = []
    for word in split_chinese(text):
        ids.extend(_longest_matches(known, word) or [known["[UNK]"]])
    return ids


def _longest_matches(known, word):
    if len(word) > 200:
        return None
    ids, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = [
            e
            for e in range(start + 1, len(word) + 1)
            if prefix + word[start:e] in known
        ]
        if not ends:
            return None
        ids.append(known[prefix + word[start : ends[-1]]])
        start = ends[-1]
    return ids


def _is_ideograph(code):
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2B73F
        or 0x2B740 <= code <= 0x2B81F
        or 0x2B820 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )


def _is_mark(c):
    code = ord(c)
    return (
        33 <= code <= 47
        or 58 <= code <= 64
        or 91 <= code <= 96
        or 123 <= code <= 126
        or unicodedata.category(c).startswith("P")
    )
