"""Tokenizers as other libraries keep them, in and out.

SentencePiece: `spiece.model`, and Hugging Face's `tokenizer.json`, which has
the pieces, their scores and the normalisation. WordPiece: `vocab.txt`, and
`tokenizer.json` likewise.

Where Hugging Face's rules differ from Google's, the rules in the file hold:

- Google splits a piece that ends in a digit and a comma ("2013,"); a
  `tokenizer.json` can only give such pieces a score so low that they never
  come up, which is how ours are written. 3 of 39,212 lines then differ from
  Google's, in numbers such as "11,043".
- Theirs writes two backticks or two apostrophes as a double quote. Ours leaves
  them as typed, as Google's does; reading such a file says so.
- Special tokens typed in a text are always special tokens there.
- A capital sigma at a word's end becomes the final form with Google and here,
  the common one there.
"""

import base64
import json
from pathlib import Path

from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.stored_options import append_options
from keras_albert.tokenizers.stored_options import read_options
from keras_albert.tokenizers.word_piece import MAX_CHARACTERS_PER_WORD
from keras_albert.tokenizers.word_piece import SUFFIX
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

JSON_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
MODEL_FILE = "spiece.model"
VOCABULARY_FILE = "vocab.txt"
# Lower than any real score: a piece that is never chosen.
NEVER = -10000.0
SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")

QUOTES_NOTE = (
    f"{JSON_FILE} writes two backticks or two apostrophes as a double quote. "
    "Here they stay as typed, as in Google's tokenizer; other texts give the "
    "same ids."
)
COMMA_NOTE = (
    f"{JSON_FILE} keeps a piece such as '2013,' whole, which Google's "
    "tokenizer splits before the comma. The file's rule is kept "
    "(split_digit_comma=False)."
)


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
    content = _read_json(folder / JSON_FILE)
    if content and "class_name" in content:
        return load_tokenizer(folder), []
    settings = _read_json(folder / CONFIG_FILE) or {}
    model = _only_file(folder, MODEL_FILE, "*.model")
    if model is not None:
        return _sentence_piece(model.read_bytes(), model, content, settings)
    if content:
        return _from_json(content, folder / JSON_FILE)
    vocabulary = _only_file(folder, VOCABULARY_FILE, "vocab*.txt")
    if vocabulary is not None:
        options = _word_piece_options(settings)
        return load_tokenizer(vocabulary, **options), []
    if list(folder.glob("*.vocab")):
        name = next(folder.glob("*.vocab")).name
        return None, [
            f"{name} is the readable list beside a SentencePiece model, not "
            "the model, so there is no tokenizer. Add the .model file."
        ]
    return None, []


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
        content = _unigram_json(tokenizer)
        settings = {
            "do_lower_case": tokenizer.lowercase,
            "keep_accents": not tokenizer.strip_accents,
        }
    else:
        write_vocabulary(tokenizer, folder)
        content = _word_piece_json(tokenizer)
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


def _sentence_piece(proto, path, content, settings):
    """A model file, whose rules a `tokenizer.json` beside it completes."""
    options = {
        "lowercase": bool(settings.get("do_lower_case", True)),
        "strip_accents": not settings.get("keep_accents", False),
    }
    notes = []
    if content:
        options, notes = _unigram_options(content)
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
    return AlbertTokenizer(proto, **options), notes


def _from_json(content, path):
    kind = (content.get("model") or {}).get("type")
    if kind == "WordPiece":
        return _word_piece_from_json(content, path), []
    if kind != "Unigram":
        raise ValueError(
            f"{path} holds a tokenizer of the kind {kind!r}. Expected "
            "'Unigram' (SentencePiece) or 'WordPiece', the two that ALBERT "
            "models have."
        )
    options, notes = _unigram_options(content)
    return AlbertTokenizer(_proto_of(content), **options), notes


def _unigram_options(content):
    """Our options and notes for the rules in a `tokenizer.json`."""
    steps = _normalizers(content)
    kinds = {step["type"] for step in steps}
    vocabulary = content["model"]["vocab"]
    endings = [s for piece, s in vocabulary if _ends_in_digit_comma(piece)]
    split = bool(endings) and max(endings) <= NEVER
    options = {
        "lowercase": "Lowercase" in kinds,
        "strip_accents": "StripAccents" in kinds,
        "split_digit_comma": split,
    }
    replaced = {
        step["pattern"].get("String")
        for step in steps
        if step["type"] == "Replace"
    }
    notes = [QUOTES_NOTE] if {"``", "''"} & replaced else []
    if endings and not split:
        notes.append(COMMA_NOTE)
    return options, notes


def _proto_of(content):
    """Builds a SentencePiece model from the pieces of a `tokenizer.json`."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    special = {token["content"] for token in content.get("added_tokens", [])}
    special |= set(SPECIAL)
    unknown = content["model"].get("unk_id", 1)
    for number, (text, score) in enumerate(content["model"]["vocab"]):
        piece = proto.pieces.add(piece=text, score=score)
        if number == unknown:
            piece.type = piece.UNKNOWN
        elif text in special:
            piece.type = piece.CONTROL
    ids = {piece.piece: i for i, piece in enumerate(proto.pieces)}
    trainer = proto.trainer_spec
    trainer.model_type = trainer.UNIGRAM
    trainer.vocab_size = len(proto.pieces)
    trainer.pad_id, trainer.unk_id = ids.get("<pad>", -1), unknown
    trainer.bos_id = trainer.eos_id = -1
    charsmaps = [
        base64.b64decode(step["precompiled_charsmap"])
        for step in _normalizers(content)
        if step["type"] == "Precompiled"
    ]
    spec = proto.normalizer_spec
    spec.name = "nmt_nfkc" if charsmaps else "identity"
    spec.precompiled_charsmap = charsmaps[0] if charsmaps else b""
    return proto.SerializeToString()


def _unigram_json(tokenizer):
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.proto)
    if proto.trainer_spec.model_type != proto.trainer_spec.UNIGRAM:
        raise ValueError(
            f"Only SentencePiece models of the unigram kind have a form in "
            f"{JSON_FILE}. Train one with `train_tokenizer`, which makes such."
        )
    split = tokenizer.split_digit_comma
    vocabulary = [
        [
            piece.piece,
            NEVER
            if split and _ends_in_digit_comma(piece.piece)
            else piece.score,
        ]
        for piece in proto.pieces
    ]
    steps = []
    if tokenizer.strip_accents:
        steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if tokenizer.lowercase:
        steps.append({"type": "Lowercase"})
    charsmap = proto.normalizer_spec.precompiled_charsmap
    if charsmap:
        encoded = base64.b64encode(charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": encoded})
    space = {
        "type": "Metaspace",
        "replacement": "▁",
        "prepend_scheme": "always",
    }
    return _tokenizer_json(
        tokenizer,
        normalizer={"type": "Sequence", "normalizers": steps},
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                space,
            ],
        },
        decoder=space,
        model={
            "type": "Unigram",
            "unk_id": tokenizer.unk_token_id,
            "vocab": vocabulary,
            "byte_fallback": False,
        },
    )


def _word_piece_json(tokenizer):
    return _tokenizer_json(
        tokenizer,
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": tokenizer.split_on_cjk,
            "strip_accents": tokenizer.strip_accents,
            "lowercase": tokenizer.lowercase,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": SUFFIX, "cleanup": True},
        model={
            "type": "WordPiece",
            "unk_token": tokenizer.unk_token,
            "continuing_subword_prefix": SUFFIX,
            "max_input_chars_per_word": MAX_CHARACTERS_PER_WORD,
            "vocab": {p: i for i, p in enumerate(tokenizer.get_vocabulary())},
        },
    )


def _tokenizer_json(tokenizer, **parts):
    names = ("pad", "unk", "cls", "sep", "mask")
    special = {
        getattr(tokenizer, f"{name}_token_id"): getattr(
            tokenizer, f"{name}_token"
        )
        for name in names
    }
    cls, sep = tokenizer.cls_token, tokenizer.sep_token

    def token(text, segment):
        return {"SpecialToken": {"id": text, "type_id": segment}}

    def sequence(letter, segment):
        return {"Sequence": {"id": letter, "type_id": segment}}

    single = [token(cls, 0), sequence("A", 0), token(sep, 0)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token_id,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token_id, text in sorted(special.items())
        ],
        **parts,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, sequence("B", 1), token(sep, 1)],
            "special_tokens": {
                text: {"id": text, "ids": [token_id], "tokens": [text]}
                for token_id, text in special.items()
                if text in (cls, sep)
            },
        },
    }


def _word_piece_from_json(content, path):
    model = content["model"]
    prefix = model.get("continuing_subword_prefix", SUFFIX)
    if prefix != SUFFIX:
        raise ValueError(
            f"{path} marks the pieces inside a word by {prefix!r}. Expected "
            f"{SUFFIX!r}, as in all published vocabularies."
        )
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    if [model["vocab"][piece] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(
            f"The ids in {path} are not 0 to {len(pieces) - 1}, so it is no "
            "vocabulary of one model. Fetch the file again."
        )
    (rules,) = _normalizers(content) or [{}]
    lowercase = rules.get("lowercase", True)
    accents = rules.get("strip_accents")
    return AlbertWordPieceTokenizer(
        pieces,
        lowercase=lowercase,
        strip_accents=lowercase if accents is None else accents,
        split_on_cjk=rules.get("handle_chinese_chars", True),
    )


def _word_piece_options(settings):
    lowercase = bool(settings.get("do_lower_case", True))
    accents = settings.get("strip_accents")
    return {
        "lowercase": lowercase,
        "strip_accents": lowercase if accents is None else bool(accents),
        "split_on_cjk": bool(settings.get("tokenize_chinese_chars", True)),
    }


def _normalizers(content):
    normalizer = content.get("normalizer") or {"type": "Sequence"}
    if normalizer["type"] == "Sequence":
        return normalizer.get("normalizers", [])
    return [normalizer]


def _ends_in_digit_comma(piece):
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def _pieces_of(proto):
    import sentencepiece

    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    except RuntimeError:
        return []  # `AlbertTokenizer` says what is wrong with it
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


def _read_json(path):
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


def _write_json(path, content):
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")
