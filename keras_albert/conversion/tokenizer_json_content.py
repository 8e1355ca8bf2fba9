"""What a tokenizer of ours is in Hugging Face's `tokenizer.json`."""

import base64

from keras_albert.tokenizers.tokenizer_json import JSON_FILE
from keras_albert.tokenizers.tokenizer_json import NEVER
from keras_albert.tokenizers.tokenizer_json import QUOTES
from keras_albert.tokenizers.tokenizer_json import ends_in_digit_comma
from keras_albert.tokenizers.word_piece import MAX_CHARACTERS_PER_WORD
from keras_albert.tokenizers.word_piece import SUFFIX


def unigram_json(tokenizer):
    """Returns the content of the file for a SentencePiece tokenizer.

    Google takes a piece such as "2013," and then splits it; here it is never
    taken. Of 39,212 lines, 3 give other ids for that, in numbers like 11,043.

    Args:
        tokenizer: `AlbertTokenizer`.

    Raises:
        ValueError: if its model is not of the unigram kind.
    """
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
            if split and ends_in_digit_comma(piece.piece)
            else piece.score,
        ]
        for piece in proto.pieces
    ]
    steps = []
    if tokenizer.unify_quotes:
        steps += [
            {"type": "Replace", "pattern": {"String": mark}, "content": '"'}
            for mark in QUOTES
        ]
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


def word_piece_json(tokenizer):
    """Returns the content of the file for an `AlbertWordPieceTokenizer`."""
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
