"""Makes encoders: from files, from tokenizers, and in worker processes.

    load_encoder(file)  or  encoder_of(tokenizer)
        -> encoder.config()        strings, bools and bytes: sent to a worker
        -> encoder_from_config()   the same encoder there

Nothing here imports Keras or TensorFlow.
"""

from pathlib import Path

from keras_albert.tokenizers.loading import PRESET_FILE
from keras_albert.tokenizers.loading import is_preset
from keras_albert.tokenizers.loading import kind_of
from keras_albert.tokenizers.loading import read_preset_file
from keras_albert.tokenizers.loading import read_tokenizer_file
from keras_albert.tokenizers.loading import read_vocabulary
from keras_albert.tokenizers.sentence_piece_encoder import SentencePieceEncoder
from keras_albert.tokenizers.word_piece_encoder import WordPieceEncoder
from keras_albert.tokenizers.word_piece_encoder import read_pieces

PRESET_ASSETS = {
    "AlbertTokenizer": "vocabulary.spm",
    "AlbertWordPieceTokenizer": "vocabulary.txt",
}


def load_encoder(path, **options):
    """Loads an encoder; the kind is found from the content.

    An encoder gives the ids of the tokenizer that `load_tokenizer` loads from
    the same file. It has no Keras in it: it starts at once.

    Args:
        path: string, path or bytes. A SentencePiece `.model` file, a
            WordPiece `vocab.txt`, the folder of a preset or of another
            library's model, or the content of one of the two files.
        **options: options of the tokenizer, such as `lowercase`, that take
            the place of the stored ones.

    Returns:
        `SentencePieceEncoder` or `WordPieceEncoder`.

    Raises:
        FileNotFoundError: if there is no such file or folder.
        ValueError: if the content is no tokenizer that we know, or an option
            does not exist.

    Example:

    ```python
    encoder = keras_albert.tokenizers.load_encoder("spiece.model")
    token_ids, row_splits = encoder.encode_to_arrays(["Hello", "world"])
    ```
    """
    if isinstance(path, bytes):
        return _from_content(path, "the given bytes", options)
    path = Path(path)
    if path.is_dir() and is_preset(path):
        return _from_preset(path, options)
    found = read_vocabulary(path)
    return _from_content(
        found.content, found.path, {**found.options, **options}
    )


def encoder_of(tokenizer):
    """Returns the encoder inside a tokenizer; an encoder is returned as it is.

    Args:
        tokenizer: `AlbertTokenizer`, `AlbertWordPieceTokenizer` or an encoder.

    Returns:
        `SentencePieceEncoder` or `WordPieceEncoder`.

    Raises:
        TypeError: if it has none.
    """
    encoder = getattr(tokenizer, "encoder", tokenizer)
    if not isinstance(encoder, SentencePieceEncoder | WordPieceEncoder):
        raise TypeError(
            "Expected an `AlbertTokenizer` or `AlbertWordPieceTokenizer`. "
            f"Received: {type(tokenizer).__name__}."
        )
    return encoder


def encoder_from_config(config):
    """Makes an encoder anew from its `config()`, in another process perhaps.

    Args:
        config: dict with `class_name`, `options` and `vocabulary`.

    Returns:
        `SentencePieceEncoder` or `WordPieceEncoder`, with the fingerprint of
        the first one.
    """
    vocabulary, options = config["vocabulary"], config["options"]
    if config["class_name"] == SentencePieceEncoder.class_name:
        return SentencePieceEncoder(vocabulary, **options)
    return WordPieceEncoder(vocabulary.decode().split("\n"), **options)


def _from_content(content, name, options):
    if kind_of(content, name) == "sentence_piece":
        return SentencePieceEncoder(content, **options)
    return WordPieceEncoder(read_pieces(content, name), **options)


def _from_preset(folder, options):
    stored = read_preset_file(folder)
    class_name = stored["class_name"]
    if class_name not in PRESET_ASSETS:
        raise ValueError(
            f"{folder / PRESET_FILE} holds a {class_name}. Expected one of "
            f"{', '.join(PRESET_ASSETS)}."
        )
    kind = (
        SentencePieceEncoder
        if class_name == SentencePieceEncoder.class_name
        else WordPieceEncoder
    )
    kept = {
        name: value
        for name, value in stored["config"].items()
        if name in kind.default_options
    }
    path = folder / "assets" / "tokenizer" / PRESET_ASSETS[class_name]
    content = read_tokenizer_file(path)
    return _from_content(content, path, {**kept, **options})
