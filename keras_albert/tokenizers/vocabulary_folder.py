"""Finds the vocabulary in the folder of a model of another library.

A SentencePiece model (`spiece.model`), a WordPiece vocabulary (`vocab.txt`),
or Hugging Face's `tokenizer.json`, with the rules in `tokenizer_config.json`.
Nothing here imports Keras or TensorFlow.
"""

import dataclasses
import json
from pathlib import Path

from keras_albert.tokenizers.stored_options import read_options
from keras_albert.tokenizers.tokenizer_json import JSON_FILE
from keras_albert.tokenizers.tokenizer_json import read_tokenizer_json
from keras_albert.tokenizers.tokenizer_json import unigram_options

CONFIG_FILE = "tokenizer_config.json"
MODEL_FILE = "spiece.model"
VOCABULARY_FILE = "vocab.txt"


@dataclasses.dataclass
class FoundVocabulary:
    """What a folder says about its tokenizer.

    Attributes:
        content: bytes of a SentencePiece model, list of WordPiece pieces, or
            `None` where there is no vocabulary.
        path: path of the file that it was read from.
        options: dict of our tokenizer's options.
        notes: list of sentences about what differs from Google's rules.
    """

    content: bytes | list | None
    path: Path | None = None
    options: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)


def find_vocabulary(folder):
    """Reads the vocabulary in a folder that is no preset of ours.

    Args:
        folder: path.

    Returns:
        `FoundVocabulary`.

    Raises:
        ValueError: if there are several that could be meant, or what is there
            is damaged or of an unknown kind.
    """
    folder = Path(folder)
    content = read_json(folder / JSON_FILE)
    settings = read_json(folder / CONFIG_FILE) or {}
    model = _only_file(folder, MODEL_FILE, "*.model")
    if model is not None:
        return _sentence_piece(model, content, settings)
    if content:
        path = folder / JSON_FILE
        vocabulary, options, notes = read_tokenizer_json(content, path)
        return FoundVocabulary(vocabulary, path, options, notes)
    vocabulary = _only_file(folder, VOCABULARY_FILE, "vocab*.txt")
    if vocabulary is not None:
        return FoundVocabulary(
            vocabulary.read_bytes(), vocabulary, _word_piece_options(settings)
        )
    if list(folder.glob("*.vocab")):
        name = next(folder.glob("*.vocab")).name
        note = (
            f"{name} is the readable list beside a SentencePiece model, not "
            "the model, so there is no tokenizer. Add the .model file."
        )
        return FoundVocabulary(None, notes=[note])
    return FoundVocabulary(None)


def _sentence_piece(path, content, settings):
    """A model file, whose rules a `tokenizer.json` beside it completes."""
    proto = path.read_bytes()
    options = {
        "lowercase": bool(settings.get("do_lower_case", True)),
        "strip_accents": not settings.get("keep_accents", False),
    }
    notes = []
    if content:
        options, notes = unigram_options(content)
        theirs = [piece for piece, _ in content["model"]["vocab"]]
        ours = _pieces_of(proto)
        if theirs != ours:
            raise ValueError(
                f"{path.name} has {len(ours)} pieces and {JSON_FILE} other "
                f"{len(theirs)}, so it is not clear which tokenizer is meant. "
                "Remove the one that does not belong to the model."
            )
    stored = read_options(proto)
    # What a vocabulary was trained with says more than a general setting, and
    # less than the rules written beside it.
    options = {**stored, **options} if content else {**options, **stored}
    return FoundVocabulary(proto, path, options, notes)


def _word_piece_options(settings):
    lowercase = bool(settings.get("do_lower_case", True))
    accents = settings.get("strip_accents")
    return {
        "lowercase": lowercase,
        "strip_accents": lowercase if accents is None else bool(accents),
        "split_on_cjk": bool(settings.get("tokenize_chinese_chars", True)),
    }


def _pieces_of(proto):
    import sentencepiece

    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    except RuntimeError:
        return []  # the encoder says what is wrong with it
    return [model.id_to_piece(i) for i in range(model.vocab_size())]


def _only_file(folder, name, pattern):
    """The file of that name, or the only one that fits the pattern."""
    if (folder / name).is_file():
        return folder / name
    found = sorted(p for p in folder.glob(pattern) if p.is_file())
    if len(found) > 1:
        raise ValueError(
            f"{folder} holds several vocabularies: "
            f"{', '.join(p.name for p in found)}. Say which one is the "
            "model's."
        )
    return found[0] if found else None


def read_json(path):
    """Returns the object in a JSON file, or `None` without the file."""
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(
            f"{path} is not readable as JSON. It is damaged or cut off; fetch "
            "it again."
        )
    return content
