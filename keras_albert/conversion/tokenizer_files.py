"""Tokenizers in the form of other libraries: out, and in with what to say.

SentencePiece: `spiece.model`; WordPiece: `vocab.txt`; and for either Hugging
Face's `tokenizer.json`, which also holds the normalisation.
"""

import json
from pathlib import Path

from keras_albert.conversion.tokenizer_json_content import unigram_json
from keras_albert.conversion.tokenizer_json_content import word_piece_json
from keras_albert.tokenizers.loading import is_preset
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.loading import tokenizer_from
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.stored_options import append_options
from keras_albert.tokenizers.stored_options import read_options
from keras_albert.tokenizers.tokenizer_json import JSON_FILE
from keras_albert.tokenizers.vocabulary_folder import CONFIG_FILE
from keras_albert.tokenizers.vocabulary_folder import MODEL_FILE
from keras_albert.tokenizers.vocabulary_folder import VOCABULARY_FILE
from keras_albert.tokenizers.vocabulary_folder import find_vocabulary


def find_tokenizer(folder):
    """Loads the tokenizer in a folder, whatever form it has.

    Args:
        folder: path.

    Returns:
        `(tokenizer, notes)`; the tokenizer is `None` where there is none.

    Raises:
        ValueError: if there are several that could be meant, or what is there
            is damaged or of an unknown kind.
    """
    folder = Path(folder)
    if is_preset(folder):
        return load_tokenizer(folder), []
    found = find_vocabulary(folder)
    if found.content is None:
        return None, found.notes
    return tokenizer_from(found), found.notes


def write_vocabulary(tokenizer, folder):
    """Writes the vocabulary alone, as Google's code wants it.

    Args:
        tokenizer: `AlbertTokenizer` or `AlbertWordPieceTokenizer`.
        folder: path of a folder that exists.
    """
    folder = Path(folder)
    if isinstance(tokenizer, AlbertTokenizer):
        defaults = AlbertTokenizer(tokenizer.proto)
        proto = tokenizer.proto
        options = {**defaults._options(), **read_options(proto)}
        if tokenizer._options() != options:
            proto = append_options(proto, tokenizer._options())
        (folder / MODEL_FILE).write_bytes(proto)
        return
    pieces = "\n".join(tokenizer.get_vocabulary()) + "\n"
    (folder / VOCABULARY_FILE).write_text(pieces, encoding="utf-8")
    _write_json(folder / CONFIG_FILE, _word_piece_settings(tokenizer))


def write_tokenizer(tokenizer, folder):
    """Writes the files from which `transformers` makes the same tokenizer.

    Args:
        tokenizer: `AlbertTokenizer` or `AlbertWordPieceTokenizer`.
        folder: path of a folder that exists.
    """
    folder = Path(folder)
    if isinstance(tokenizer, AlbertTokenizer):
        (folder / MODEL_FILE).write_bytes(tokenizer.proto)
        content = unigram_json(tokenizer)
        settings = {
            "do_lower_case": tokenizer.lowercase,
            "keep_accents": not tokenizer.strip_accents,
        }
    else:
        write_vocabulary(tokenizer, folder)
        content = word_piece_json(tokenizer)
        settings = _word_piece_settings(tokenizer)
    settings |= {
        # The class that takes the rules in tokenizer.json as they are.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "pad_token": tokenizer.pad_token,
        "unk_token": tokenizer.unk_token,
        "cls_token": tokenizer.cls_token,
        "sep_token": tokenizer.sep_token,
        "mask_token": tokenizer.mask_token,
        "bos_token": tokenizer.cls_token,
        "eos_token": tokenizer.sep_token,
    }
    _write_json(folder / CONFIG_FILE, settings)
    _write_json(folder / JSON_FILE, content)


def _word_piece_settings(tokenizer):
    return {
        "do_lower_case": tokenizer.lowercase,
        "strip_accents": tokenizer.strip_accents,
        "tokenize_chinese_chars": tokenizer.split_on_cjk,
    }


def _write_json(path, content):
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")
