"""Reads the `tokenizer.json` of Hugging Face's libraries.

It has the pieces, their scores and the normalisation. Where its rules differ
from Google's, the rules in the file hold:

- Google splits a piece that ends in a digit and a comma ("2013,"); such a file
  can only give it a score so low that it never comes up.
- Two backticks or two apostrophes become a double quote there.
- Special tokens typed in a text are always special tokens there.
- A capital sigma at a word's end becomes the final form with Google and here,
  the common one there.
"""

import base64

from keras_albert.tokenizers.sentence_piece_encoder import SPECIAL_TOKENS
from keras_albert.tokenizers.word_piece_encoder import SUFFIX

JSON_FILE = "tokenizer.json"
# Lower than any real score: a piece that is never chosen.
NEVER = -10000.0
QUOTES = ("``", "''")

QUOTES_NOTE = (
    f"{JSON_FILE} writes two backticks or two apostrophes as a double quote, "
    "which Google's tokenizer leaves as typed. The file's rule is kept "
    "(unify_quotes=True)."
)
COMMA_NOTE = (
    f"{JSON_FILE} keeps a piece such as '2013,' whole, which Google's "
    "tokenizer splits before the comma. The file's rule is kept "
    "(split_digit_comma=False)."
)


def read_tokenizer_json(content, path):
    """Returns what a `tokenizer.json` holds, in our terms.

    Args:
        content: dict. The content of the file.
        path: path. Names the file in errors.

    Returns:
        `(vocabulary, options, notes)`: the bytes of a SentencePiece model or
        a list of WordPiece pieces; the options of our tokenizer; and a list
        of sentences about rules that differ from Google's.

    Raises:
        ValueError: if it is of another kind, or damaged.
    """
    kind = (content.get("model") or {}).get("type")
    if kind == "WordPiece":
        return _word_pieces(content, path), _word_piece_options(content), []
    if kind != "Unigram":
        raise ValueError(
            f"{path} holds a tokenizer of the kind {kind!r}. Expected "
            "'Unigram' (SentencePiece) or 'WordPiece', the two that ALBERT "
            "models have."
        )
    return _proto_of(content), *unigram_options(content)


def unigram_options(content):
    """Returns our options for the rules in a file, and notes about them."""
    steps = _normalizers(content)
    kinds = {step["type"] for step in steps}
    vocabulary = content["model"]["vocab"]
    endings = [s for piece, s in vocabulary if ends_in_digit_comma(piece)]
    split = bool(endings) and max(endings) <= NEVER
    options = {
        "lowercase": "Lowercase" in kinds,
        "strip_accents": "StripAccents" in kinds,
        "split_digit_comma": split,
        "unify_quotes": _replaces_quotes(steps),
    }
    notes = [QUOTES_NOTE] if options["unify_quotes"] else []
    if endings and not split:
        notes.append(COMMA_NOTE)
    return options, notes


def ends_in_digit_comma(piece):
    """Whether Google's rule for numbers splits a piece."""
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def _replaces_quotes(steps):
    replaced = {
        step["pattern"].get("String")
        for step in steps
        if step["type"] == "Replace"
    }
    return set(QUOTES) <= replaced


def _proto_of(content):
    """Builds a SentencePiece model from the pieces of a `tokenizer.json`."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    special = {token["content"] for token in content.get("added_tokens", [])}
    special |= set(SPECIAL_TOKENS)
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


def _word_pieces(content, path):
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
    return pieces


def _word_piece_options(content):
    (rules,) = _normalizers(content) or [{}]
    lowercase = rules.get("lowercase", True)
    accents = rules.get("strip_accents")
    return {
        "lowercase": lowercase,
        "strip_accents": lowercase if accents is None else accents,
        "split_on_cjk": rules.get("handle_chinese_chars", True),
    }


def _normalizers(content):
    normalizer = content.get("normalizer") or {"type": "Sequence"}
    if normalizer["type"] == "Sequence":
        return normalizer.get("normalizers", [])
    return [normalizer]
