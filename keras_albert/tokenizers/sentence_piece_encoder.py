"""Texts to ids with a SentencePiece model, in plain Python.

Normalisation, then SentencePiece, then Google's rule for numbers with commas.
The rule depends on the piece alone, so it is a table made once.
"""

import functools
from itertools import chain

import numpy as np
import sentencepiece

from keras_albert.tokenizers.encoder_base import EncoderBase
from keras_albert.tokenizers.encoder_base import expand_ids
from keras_albert.tokenizers.encoder_base import splits_of_lengths
from keras_albert.tokenizers.normalization import normalize_text
from keras_albert.tokenizers.stored_options import read_options

WORD_START = "▁"
LATIN = set("abcdefghijklmnopqrstuvwxyz")
PUNCTUATION = set('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
SPECIAL_TOKENS = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")


class SentencePieceEncoder(EncoderBase):
    """The encoder of `AlbertTokenizer`.

    Args:
        proto: bytes. The SentencePiece model.
        num_threads: int. Threads for one batch; -1 for all processors.
            Defaults to 1, as fits one of many worker processes.
        **options: bools, as of `AlbertTokenizer`: `lowercase`,
            `strip_accents`, `collapse_whitespace`, `split_digit_comma`,
            `unify_quotes` and `special_tokens_in_strings`. They win over
            those stored in the model, and these over the defaults.

    Raises:
        ValueError: if `proto` is no SentencePiece model, lacks a special
            token, or an option does not exist.

    Example:

    ```python
    encoder = keras_albert.tokenizers.load_encoder("spiece.model")
    encoder.encode_batch(["Héllo world", "In 92,000 cases"])
    ```
    """

    class_name = "AlbertTokenizer"
    later_options = ("unify_quotes",)
    special_tokens = SPECIAL_TOKENS
    default_options = {
        "lowercase": True,
        "strip_accents": True,
        "collapse_whitespace": True,
        "split_digit_comma": True,
        "unify_quotes": False,
        "special_tokens_in_strings": False,
    }

    def __init__(self, proto, num_threads=1, **options):
        check_model(proto, "the given bytes")
        self._processor = sentencepiece.SentencePieceProcessor(
            model_proto=without_typed_special_tokens(proto)
        )
        ids = range(self._processor.vocab_size())
        pieces = self._processor.id_to_piece(list(ids))
        super().__init__(pieces, proto, {**read_options(proto), **options})
        self.num_threads = num_threads

    @functools.cached_property
    def word_starts(self):
        """Bool array, one entry per id: whether the piece starts a word.

        A piece starts a word if it starts with a space mark, is one
        punctuation mark, or holds anything but Latin letters and
        punctuation, so that Chinese characters are words by themselves.

        Reference: `_is_start_piece_sp` in Google's
        `create_pretraining_data.py`.
        """
        return np.array([_starts_word(piece) for piece in self._pieces])

    @functools.cached_property
    def digit_commas(self):
        """Dict of what `split_digit_comma` replaces; see its function."""
        if not self.options["split_digit_comma"]:
            return {}
        return digit_comma_table(self._processor)

    def _is_special(self, token_id):
        processor = self._processor
        return (
            token_id in (self.pad_token_id, self.mask_token_id)
            or processor.is_control(token_id)
            or processor.is_unknown(token_id)
            or processor.is_unused(token_id)
            or processor.is_byte(token_id)
        )

    def _encode_plain(self, texts):
        options = self.options
        steps = (
            options["lowercase"],
            options["strip_accents"],
            options["collapse_whitespace"],
            options["unify_quotes"],
        )
        texts = [normalize_text(text, *steps) for text in texts]
        rows = self._processor.Encode(
            texts, out_type=int, num_threads=self.num_threads
        )
        splits = splits_of_lengths(map(len, rows))
        ids = np.fromiter(chain.from_iterable(rows), "int32", splits[-1])
        row_of_id, *table = self._digit_comma_arrays
        return expand_ids(ids, splits, row_of_id[ids], *table)

    @functools.cached_property
    def _digit_comma_arrays(self):
        table = self.digit_commas
        row_of_id = np.full(self.vocabulary_size(), -1, "int32")
        row_of_id[list(table)] = range(len(table))
        values = np.array([*chain.from_iterable(table.values())], "int32")
        return row_of_id, values, splits_of_lengths(map(len, table.values()))


def digit_comma_table(processor):
    """Lists the pieces that Google's rule splits, and into what.

    A piece that ends in a digit and a comma gives way to the pieces of what
    stands before the comma, and the comma.

    Args:
        processor: `sentencepiece.SentencePieceProcessor`.

    Returns:
        A dict from id to the list of ids that take its place.

    Reference:
        `encode_pieces` in Google's ALBERT, `tokenization.py`.
    """
    table = {}
    for token_id in range(processor.vocab_size()):
        piece = processor.id_to_piece(token_id)
        if len(piece) < 2 or piece[-1] != "," or not piece[-2].isdigit():
            continue
        pieces = processor.encode(
            piece[:-1].replace(WORD_START, ""), out_type=str
        )
        # Encoding puts a space mark in front; the piece may have had none.
        if piece[0] != WORD_START and pieces[0][0] == WORD_START:
            pieces[0] = pieces[0][1:]
        pieces = [p for p in pieces if p]
        table[token_id] = [processor.piece_to_id(p) for p in (*pieces, ",")]
    return table


def without_typed_special_tokens(proto):
    """Makes control symbols of special tokens that text could produce."""
    names = {*SPECIAL_TOKENS} - {"<unk>"}
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    ids = [processor.piece_to_id(name) for name in names]
    if all(processor.is_control(i) or processor.is_unknown(i) for i in ids):
        return proto
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(proto)
    for piece in model.pieces:
        if piece.piece in names:
            piece.type = piece.CONTROL
    return model.SerializeToString()


def check_model(content, name):
    """Raises a `ValueError` if bytes are no SentencePiece model."""
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=content)
        # No bytes at all are taken for a model that is yet to be loaded.
        size = model.vocab_size() if content else 0
    except RuntimeError:
        size = 0
    if not size:
        raise ValueError(
            f"{name} holds {len(content)} bytes that are no SentencePiece "
            "model. Expected the `.model` file of a SentencePiece training."
        )


def _starts_word(piece):
    return (
        piece.startswith((WORD_START, "<"))
        or piece in PUNCTUATION
        or not {c.lower() for c in piece} <= LATIN | PUNCTUATION
    )
