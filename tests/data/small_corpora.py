"""A vocabulary and text made by a rule, for preparing small corpora."""

import hashlib
import random
import string
from pathlib import Path

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
COMMON = ["the", "of", "and", "to", "in", "is", "was", "for", "on", "that"]


def write_vocabulary(path):
    """A WordPiece vocabulary that can spell every lower-case word."""
    letters = list(string.ascii_lowercase + string.digits)
    pieces = [
        *SPECIAL,
        *".,!?\"'-",
        *letters,
        *(f"##{letter}" for letter in letters),
        *COMMON,
        *"北京大学好人。",
    ]
    path.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return path


def document(rng, num_sentences):
    """A document of random sentences, one to three a line."""
    words = [*COMMON, "rain", "sunshine", "corpora", "shard"]
    lines, line = [], []
    for _ in range(num_sentences):
        sentence = rng.choices(words, k=rng.randint(2, 25))
        line.append(f"{' '.join(sentence).capitalize()}.")
        if rng.random() < 0.5:
            lines.append(" ".join(line))
            line = []
    if line:
        lines.append(" ".join(line))
    return "\n".join(lines)


def documents(num_documents=60, seed=0):
    rng = random.Random(seed)
    return [document(rng, rng.randint(1, 30)) for _ in range(num_documents)]


def write_corpus(path, texts=None):
    texts = documents() if texts is None else texts
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return path


def digests(folder):
    """SHA-256 of every file of a prepared folder that must not vary."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name != "preparation.json"
    }
