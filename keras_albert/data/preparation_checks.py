"""What every way to prepare a corpus checks and concludes in the same words."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from keras_albert.data.segment_pairs import MIN_SEQUENCE_LENGTH
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import ShardContent
from keras_albert.data.shards import Manifest
from keras_albert.data.shards import ShardInfo
from keras_albert.data.shards import Totals
from keras_albert.data.shards import shard_name


@dataclasses.dataclass(frozen=True)
class PreparedCorpus:
    """What a preparation gave.

    Args:
        folder: path of the prepared data, or its address.
        manifest: `Manifest`.
        seconds: float. How long it took.
        was_complete: bool. Whether there was nothing left to do.
    """

    folder: Path | str
    manifest: Manifest
    seconds: float
    was_complete: bool = False


class RefusedCorpusError(ValueError):
    """The corpus must be changed before anything can be prepared from it."""


def check_arguments(
    sequence_length: int,
    short_sequence_probability: float,
    workers: int | None,
    num_shards: int | None,
) -> None:
    """Raises `ValueError` if an argument is out of range."""
    for name, value, smallest in (
        ("sequence_length", sequence_length, MIN_SEQUENCE_LENGTH),
        ("workers", workers, 0),
        ("num_shards", num_shards, 1),
    ):
        if value is not None and value < smallest:
            raise ValueError(
                f"`{name}` must be at least {smallest}. "
                f"Received: {name}={value}."
            )
    if not 0 <= short_sequence_probability <= 1:
        raise ValueError(
            "`short_sequence_probability` must lie in [0, 1]. "
            f"Received: {short_sequence_probability}."
        )


def check_totals(totals: Totals, allow_single: bool) -> None:
    """Raises `RefusedCorpusError` if a corpus cannot teach anything.

    Args:
        totals: `Totals` of the corpus, or of what was read of it.
        allow_single: bool. Whether single sentences are enough.
    """
    if not totals.documents:
        raise RefusedCorpusError(
            "The corpus holds no document with a token. Check that the files "
            "are the right ones, and that the tokenizer fits their language."
        )
    if allow_single or totals.one_sentence_documents < totals.documents:
        return
    raise RefusedCorpusError(
        f"Sentence order cannot be learnt: each of the {totals.documents} "
        "documents read is a single sentence. Put a blank line between "
        "documents, not between sentences. If single sentences are all there "
        "is, allow them with --allow-single-sentences "
        "(allow_single_sentences=True) and pretrain without sentence order."
    )


def make_manifest(
    chunks: ChunkSettings,
    encoder,
    tokenizer: str,
    word_segmenter: str | None,
    contents: Sequence[ShardContent],
    totals: Totals,
) -> Manifest:
    """Concludes a preparation.

    Args:
        chunks: `ChunkSettings`.
        encoder: the tokenizer's encoder.
        tokenizer: string. Path of the tokenizer inside the folder.
        word_segmenter: string, or `None`.
        contents: sequence of `ShardContent`, by the number of the shard.
        totals: `Totals` of the corpus; what the shards add is filled in.

    Returns:
        `Manifest`.
    """
    totals += Totals(
        examples=sum(content.num_examples for content in contents),
        split_sentences=sum(c.num_split_sentences for c in contents),
    )
    return Manifest(
        **dataclasses.asdict(chunks),
        max_chunk_tokens=max(c.max_chunk_tokens for c in contents),
        max_chunk_sentences=max(c.max_chunk_sentences for c in contents),
        vocabulary_size=encoder.vocabulary_size(),
        tokenizer=tokenizer,
        tokenizer_fingerprint=encoder.fingerprint(),
        special_token_ids=dict(encoder.special_ids),
        word_segmenter=word_segmenter,
        totals=totals,
        shards=tuple(
            ShardInfo(
                name=shard_name(index, len(contents)),
                num_examples=content.num_examples,
                num_tokens=content.num_tokens,
                sha256=content.sha256,
            )
            for index, content in enumerate(contents)
        ),
    )
