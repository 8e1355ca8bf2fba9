"""Comparing two tokenizers by the ids they give to text."""

import importlib.util
from pathlib import Path

from keras_albert.tokenizers.tokenizer_json import JSON_FILE

# Each line tries a rule on which implementations part.
TEXTS = (
    "The quick brown fox jumped over the lazy dog.",
    "HELLO World, Héllo naïve café ÅNGSTRÖM",
    "In 2013, 92,000 (of 1,234,567) people paid £3.50 – or €4.",
    "two  spaces,\ttabs   and a no-break\u00a0space ",
    "\"quotes\", 'single', “curly”, ``backticks''",
    "e-mail: someone@example.org; https://example.org/a_b?c=d#e",
    "ﬁne ½ ™ ² Ǆ ß ΣΑΣ İstanbul 각한 ｆｕｌｌ",
    "今天天气很好,我们去公园玩吧。2019年12月",
    "unaffable antidisestablishmentarianism xyzzyqwv",
    "don't can't it's we'll",
)


def differing_texts(encode, other, texts=TEXTS):
    """Returns the texts to which two tokenizers give other ids.

    Args:
        encode, other: functions from a list of strings to a list of lists of
            int.
        texts: sequence of strings.
    """
    rows = zip(texts, encode(list(texts)), other(list(texts)), strict=True)
    return [text for text, a, b in rows if list(a) != list(b)]


def check_tokenizer(ours, written, folder):
    """Compares a tokenizer with what was written of it.

    Args:
        ours: a tokenizer of ours.
        written: the tokenizer of ours that was read back from the folder.
        folder: path. Where a `tokenizer.json` lies in it, and the library
            `tokenizers` is installed, that is asked, too.

    Returns:
        List of sentences for the report.

    Raises:
        ValueError: if what was read back gives other ids.
    """
    different = differing_texts(ours.encode_batch, written.encode_batch)
    if different:
        raise ValueError(
            "The tokenizer read back from the outcome gives other ids to "
            f"{different[0]!r}, so the outcome was not kept. Please report "
            "this vocabulary."
        )
    notes = [f"Tokenizer: the same ids on {len(TEXTS)} sample texts."]
    theirs = _library_tokenizer(Path(folder) / JSON_FILE)
    if theirs is not None:
        different = differing_texts(ours.encode_batch, theirs)
        if different:
            notes.append(
                f"transformers gives other ids to {len(different)} of "
                f"{len(TEXTS)} sample texts, the first {different[0]!r}."
            )
        else:
            notes.append("transformers gives the same ids to these texts.")
    return notes


def _library_tokenizer(path):
    """Hugging Face's own implementation as a function, or `None`."""
    if not path.is_file() or not importlib.util.find_spec("tokenizers"):
        return None
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception:  # a preset's tokenizer.json is Keras's
        return None

    def encode(texts):
        rows = tokenizer.encode_batch(texts, add_special_tokens=False)
        return [row.ids for row in rows]

    return encode
