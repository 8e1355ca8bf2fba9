"""Loads a tokenizer from whatever holds it."""

import json
from pathlib import Path

from keras_albert.tokenizers.vocabulary_folder import FoundVocabulary
from keras_albert.tokenizers.vocabulary_folder import find_vocabulary
from keras_albert.tokenizers.vocabulary_folder import read_json
from keras_albert.tokenizers.word_piece_encoder import read_pieces

PRESET_FILE = "tokenizer.json"


def load_tokenizer(path, **options):
    """Loads a tokenizer; the kind is found from the content.

    Args:
        path: string or path. A SentencePiece `.model` file, a WordPiece
            `vocab.txt`, the folder of a preset, or a folder of Hugging
            Face's or Google's with one of these files or a `tokenizer.json`.
        **options: arguments of the tokenizer, such as `lowercase` or
            `sequence_length`, that take the place of the stored ones.

    Returns:
        `AlbertTokenizer` or `AlbertWordPieceTokenizer`.

    Raises:
        FileNotFoundError: if there is no such file or folder.
        ValueError: if the content is no tokenizer that we know.

    Example:

    ```python
    tokenizer = keras_albert.tokenizers.load_tokenizer("spiece.model")
    ```
    """
    path = Path(path)
    if path.is_dir() and is_preset(path):
        return _load_preset(path, options)
    return tokenizer_from(read_vocabulary(path), **options)


def tokenizer_from(found, **options):
    """Makes a tokenizer from a vocabulary that was read.

    Args:
        found: `FoundVocabulary` with a content.
        **options: take the place of those that were found.

    Returns:
        `AlbertTokenizer` or `AlbertWordPieceTokenizer`.
    """
    options = {**found.options, **options}
    if kind_of(found.content, found.path) == "sentence_piece":
        from keras_albert.tokenizers.sentence_piece import AlbertTokenizer

        return AlbertTokenizer(found.content, **options)
    from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

    return AlbertWordPieceTokenizer(
        read_pieces(found.content, found.path), **options
    )


def is_preset(folder):
    """Whether a folder holds a tokenizer that Keras saved."""
    content = read_json(Path(folder) / PRESET_FILE)
    return bool(content) and "class_name" in content


def read_vocabulary(path):
    """Reads a vocabulary's file, or finds it in a folder that is no preset.

    Args:
        path: path.

    Returns:
        `FoundVocabulary` with a content.

    Raises:
        FileNotFoundError: if there is no such file or folder.
        ValueError: if it holds no vocabulary that we know.
    """
    if not path.is_dir():
        return FoundVocabulary(read_tokenizer_file(path), path)
    found = find_vocabulary(path)
    if found.content is None:
        raise ValueError(
            f"The folder {path} holds no tokenizer. "
            + (
                " ".join(found.notes)
                or f"Expected a preset's {PRESET_FILE}, or spiece.model, "
                "vocab.txt or tokenizer.json of another library."
            )
        )
    return found


def _load_preset(folder, options):
    import keras

    import keras_albert.tokenizers.sentence_piece
    import keras_albert.tokenizers.word_piece  # noqa: F401

    config = read_preset_file(folder)
    config["config"].update(options)
    tokenizer = keras.saving.deserialize_keras_object(config)
    tokenizer.load_preset_assets(str(folder))
    return tokenizer


def read_tokenizer_file(path):
    """Reads the bytes of a vocabulary, or says that there is none."""
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no tokenizer at {path}. Expected a SentencePiece "
            "`.model` file, a WordPiece `vocab.txt`, or a preset folder."
        )
    return path.read_bytes()


def read_preset_file(folder):
    """Reads the configuration of a preset's tokenizer as a dict."""
    file = folder / PRESET_FILE
    if not file.is_file():
        raise ValueError(
            f"The folder {folder} holds no {PRESET_FILE}, so it is no preset "
            "with a tokenizer. To load a vocabulary, give its file."
        )
    return json.loads(file.read_text(encoding="utf-8"))


def kind_of(content, name):
    """Finds the kind of a vocabulary.

    Args:
        content: bytes, or a list of pieces.
        name: string or path. Where the content is from, for messages.

    Returns:
        `"sentence_piece"` or `"word_piece"`.

    Raises:
        ValueError: if it is neither.
    """
    if isinstance(content, list):
        return "word_piece"
    if not content.strip():
        raise ValueError(f"{name} is empty, so it holds no vocabulary.")
    if _is_sentence_piece(content):
        return "sentence_piece"
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(
            f"{name} is neither a SentencePiece model nor UTF-8 text. "
            "Expected a `.model` file or a `vocab.txt` with one piece a line."
        ) from None
    if all("\t" in line for line in lines if line):
        raise ValueError(
            f"{name} is the readable list that SentencePiece writes beside a "
            f"model. Give the model itself, such as "
            f"{Path(name).with_suffix('.model').name}."
        )
    if lines[0].lstrip().startswith("{"):
        raise ValueError(
            f"{name} is a JSON file. Expected a SentencePiece `.model` file, "
            "a `vocab.txt` with one piece a line, or the folder of a preset."
        )
    return "word_piece"


def _is_sentence_piece(content):
    import sentencepiece

    # Protocol buffers of this kind start with field 1; text does not.
    if not content.startswith(b"\n"):
        return False
    try:
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except RuntimeError:
        return False
    return True
