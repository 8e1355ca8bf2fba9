"""Opens a folder of prepared data: everything is checked before any batch."""

import dataclasses
from pathlib import Path

from keras_albert.data.example_batches import BatchMaker
from keras_albert.data.example_batches import check_count
from keras_albert.data.segment_pairs import OBJECTIVES
from keras_albert.data.shard_reading import PreparedReader
from keras_albert.data.shards import SENTENCE_ORDER_LABELS
from keras_albert.data.shards import Manifest
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import verify_shards


def is_prepared(source) -> bool:
    """Whether a source names a folder, and not text.

    Args:
        source: anything that `pretraining_dataset` takes.

    Returns:
        A bool.
    """
    return isinstance(source, str | Path) and Path(source).is_dir()


def open_prepared(
    folder,
    tokenizer=None,
    *,
    seed,
    objective="sop",
    sequence_length=None,
    num_predictions=None,
    rates=None,
    short_sequence_probability=None,
    swap_probability=0.5,
    word_segmenter=None,
    shards=None,
    window_shards=None,
    verify=True,
) -> PreparedReader:
    """Checks a folder of prepared data and what is wanted of it.

    Args:
        folder: string or path.
        tokenizer: as in `pretraining_dataset`, like all other arguments.
        seed: int.
        objective: string.
        sequence_length: int.
        num_predictions: int.
        rates: `MaskingRates`.
        short_sequence_probability: float.
        swap_probability: float.
        word_segmenter: must be `None`.
        shards: sequence of int.
        window_shards: int.
        verify: bool.

    Returns:
        `PreparedReader`.

    Raises:
        FileNotFoundError: if the folder is not complete.
        ValueError: if it is damaged, or does not fit the arguments.
    """
    folder = Path(folder).resolve()
    manifest = verify_shards(folder) if verify else read_manifest(folder)
    if shards is not None:
        chosen = _chosen_shards(folder, manifest, shards)
        manifest = dataclasses.replace(manifest, shards=chosen)
    _check_objective(folder, manifest, objective, swap_probability)
    _check_fixed(
        folder,
        "sequence_length",
        sequence_length,
        manifest.sequence_length,
    )
    _check_fixed(
        folder,
        "short_sequence_probability",
        short_sequence_probability,
        manifest.short_sequence_probability,
    )
    if word_segmenter is not None:
        raise ValueError(
            f"The words of {folder} were found when it was prepared, with the "
            f"word segmenter {manifest.word_segmenter}. Leave out "
            "`word_segmenter`, or prepare the corpus again with another."
        )
    if window_shards is not None:
        check_count("window_shards", window_shards, 1)
    make_batch = BatchMaker(
        _checked_tokenizer(folder, manifest, tokenizer),
        manifest.sequence_length,
        num_predictions,
        rates,
    )
    return PreparedReader(
        folder=folder,
        manifest=manifest,
        make_batch=make_batch,
        seed=seed,
        objective=objective,
        swap_probability=swap_probability,
        window_shards=window_shards,
    )


def _chosen_shards(folder, manifest, shards):
    number = len(manifest.shards)
    if not all(0 <= index < number for index in shards) or not len(shards):
        raise ValueError(
            f"`shards` must name some of the {number} shards of {folder}, "
            f"counted from 0. Received: shards={list(shards)}."
        )
    return tuple(manifest.shards[index] for index in shards)


def _checked_tokenizer(folder, manifest: Manifest, tokenizer):
    stored = folder / manifest.tokenizer
    if tokenizer is None:
        from keras_albert.tokenizers.loading import load_tokenizer

        tokenizer = load_tokenizer(stored)
    found, expected = tokenizer.fingerprint(), manifest.tokenizer_fingerprint
    if found != expected:
        raise ValueError(
            f"{folder} was prepared with another tokenizer. Received a "
            f"tokenizer of fingerprint {found[:12]}; the manifest names "
            f"{expected[:12]}. Leave out the tokenizer to use the one stored "
            f"in {stored}, or prepare the corpus again with yours."
        )
    return tokenizer


def _check_objective(folder, manifest, objective, swap_probability):
    if objective not in OBJECTIVES:
        raise ValueError(
            f"`objective` must be one of {OBJECTIVES}. "
            f"Received: objective={objective!r}."
        )
    if not 0 <= swap_probability <= 1:
        raise ValueError(
            "`swap_probability` must lie in [0, 1]. "
            f"Received: swap_probability={swap_probability}."
        )
    if not manifest.num_examples:
        raise ValueError(
            f"{folder} holds no example. Prepare documents that hold text."
        )
    if manifest.sentence_order != SENTENCE_ORDER_LABELS:
        raise ValueError(
            f"{folder} labels sentence order as {manifest.sentence_order!r}; "
            f"this release reads {SENTENCE_ORDER_LABELS!r}. Prepare the corpus "
            "again."
        )
    totals = manifest.totals
    if objective == "nsp" and totals.documents < 2:
        raise ValueError(
            "Next-sentence prediction needs at least two documents. "
            f'{folder} holds one. Use objective="sop", or check that blank '
            "lines separate the documents, and prepare the corpus again."
        )
    if objective == "sop" and totals.sentences == totals.documents:
        raise ValueError(
            "Sentence order cannot be learnt: each of the "
            f"{totals.documents} documents of {folder} is a single sentence. "
            "Put a blank line between documents, not between sentences, and "
            'prepare the corpus again, or use objective="none".'
        )


def _check_fixed(folder, name, wanted, prepared):
    if wanted is not None and wanted != prepared:
        raise ValueError(
            f"{folder} was prepared with {name}={prepared}. Received: "
            f"{name}={wanted}. Leave the argument out, or prepare the corpus "
            f"again with {wanted}."
        )
