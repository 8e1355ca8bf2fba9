"""Batches for pretraining, as a pure function of the seed and the step.

    prepared folder            -> shard_reading   ┐
    files, documents, corpus   -> corpus_batches  ┴-> (inputs, targets,
                                                      sample_weights)

Nothing is read or masked before `start_step`: the step gives the epoch and
the place in it by counting, so that training resumes at once.
"""

from collections.abc import Sequence

import tensorflow as tf

from keras_albert.data.corpus import are_files
from keras_albert.data.corpus import read_documents
from keras_albert.data.corpus_batches import check_same_tokenizer
from keras_albert.data.corpus_batches import corpus_evaluation_batches
from keras_albert.data.corpus_batches import corpus_training_batches
from keras_albert.data.example_batches import BatchMaker
from keras_albert.data.example_batches import check_count
from keras_albert.data.masking import MaskingRates
from keras_albert.data.prepared_data import is_prepared
from keras_albert.data.prepared_data import open_prepared
from keras_albert.data.segment_pairs import Objective
from keras_albert.data.shard_reading import evaluation_batches
from keras_albert.data.shard_reading import training_batches
from keras_albert.data.tokenized_corpus import TokenizedCorpus
from keras_albert.data.tokenized_corpus import tokenize_corpus

_SHORT_SEQUENCE_PROBABILITY = 0.1


def pretraining_dataset(
    source,
    tokenizer=None,
    *,
    batch_size: int,
    sequence_length: int | None = None,
    seed: int,
    start_step: int = 0,
    objective: Objective = "sop",
    num_predictions: int | None = None,
    rates: MaskingRates | None = None,
    short_sequence_probability: float | None = None,
    swap_probability: float = 0.5,
    word_segmenter=None,
    worker_index: int = 0,
    num_workers: int = 1,
    shards: Sequence[int] | None = None,
    window_shards: int | None = None,
    verify: bool = True,
    data_service: str | None = None,
) -> tf.data.Dataset:
    """Makes an endless stream of batches for `AlbertPretrainer.fit`.

    Split, order and masks of every example are drawn afresh in each epoch,
    and each epoch has its own order. Batches run across the borders of
    epochs, so that no example is dropped.

    Args:
        source: a folder that `keras-albert prepare` wrote; or files, as for
            `read_documents`; or an iterable of documents, each a list of
            lines; or `TokenizedCorpus`. Only prepared data may be larger than
            memory.
        tokenizer: the tokenizer that made, or will make, the token ids.
            Defaults to the one stored in prepared data.
        batch_size: int. B, the examples of a step, of all workers together.
        sequence_length: int. S, with `[CLS]` and the two `[SEP]`. Defaults to
            that of prepared data, which has no other.
        seed: int. Same seed, same batches.
        start_step: int. The number of batches to leave out at the beginning.
            Defaults to `0`.
        objective: `"sop"`, `"nsp"` or `"none"`, as in `plan_segment_pairs`.
            Defaults to `"sop"`.
        num_predictions: int. P, the most tokens predicted per example.
            Defaults to the masking rate times `sequence_length`, rounded up:
            20 for 128.
        rates: `MaskingRates`. Defaults to the published ones.
        short_sequence_probability: float. Share of shorter examples, fixed
            in prepared data. Defaults to `0.1` for text.
        swap_probability: float. Share of pairs with label 1. Defaults to
            `0.5`.
        word_segmenter: function from a sentence to its words, for files and
            documents only; see `tokenize_corpus`. Defaults to `None`.
        worker_index: int. Which of `num_workers` trainers this one is. It
            gets its rows of each batch. Defaults to `0`.
        num_workers: int. Must divide `batch_size`; each trainer gets
            `batch_size / num_workers` rows. Their rows together are the batch
            of a single trainer. Defaults to `1`.
        shards: sequence of int. Which shards of prepared data to read, counted
            from 0; each is a random part of the documents, so that a few
            serve as held-out text. Defaults to all.
        window_shards: int. Shards of prepared data that are in memory and
            shuffled together. Defaults to as many as fit into 64 MiB.
        verify: bool. Whether to compare the checksums of all shards of
            prepared data first, so that damage is found before training
            rather than on the way. It takes about a second for each gigabyte.
            Defaults to `True`.
        data_service: string. Address of a tf.data service, such as
            `"grpc://host:5000"`, whose workers make the batches of prepared
            data; see `keras-albert data-service`. Same batches. Defaults to
            `None`: this process makes them.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`:
        `inputs`: dict of int32 `token_ids`, `segment_ids`, `padding_mask` of
        shape `(B, S)` and `mask_positions` of shape `(B, P)`. `targets`: dict
        of int32 `masked_lm` `(B, P)` and `sentence_order` `(B,)`, 1 = swapped
        (with `"nsp"`, 1 = from another document). `sample_weights`: dict of
        float32 with the keys and shapes of the targets, 0 where there is
        nothing to predict. With several workers, B is a worker's share.

    Raises:
        FileNotFoundError: If a file or shard is missing or a pattern matches
            nothing.
        ValueError: If the source has no text, is damaged, does not belong to
            the tokenizer or has no sentence order to learn, or if an argument
            is out of range.
        ConnectionError: If the data service cannot be reached, or lacks
            workers.

    Example:

    ```python
    dataset = keras_albert.data.pretraining_dataset(
        "prepared",
        batch_size=64,
        seed=1,
    )
    pretrainer.fit(dataset, steps_per_epoch=1000, epochs=10)
    ```
    """
    check_count("batch_size", batch_size, 1)
    check_count("start_step", start_step, 0)
    _check_workers(batch_size, worker_index, num_workers)
    part = {"worker_index": worker_index, "num_workers": num_workers}
    if is_prepared(source):
        reader = open_prepared(
            source,
            tokenizer,
            sequence_length=sequence_length,
            num_predictions=num_predictions,
            rates=rates,
            seed=seed,
            objective=objective,
            swap_probability=swap_probability,
            short_sequence_probability=short_sequence_probability,
            word_segmenter=word_segmenter,
            shards=shards,
            window_shards=window_shards,
            verify=verify,
        )
        return training_batches(
            reader,
            batch_size=batch_size,
            start_step=start_step,
            data_service=data_service,
            **part,
        )
    _check_only_for_prepared(
        shards=shards, window_shards=window_shards, data_service=data_service
    )
    corpus, make_batch, pairing = _from_text(
        source,
        tokenizer,
        word_segmenter,
        num_predictions,
        rates,
        sequence_length=sequence_length,
        seed=seed,
        objective=objective,
        short_sequence_probability=short_sequence_probability,
        swap_probability=swap_probability,
    )
    return corpus_training_batches(
        corpus, make_batch, pairing, batch_size, start_step, **part
    )


def evaluation_dataset(
    source,
    tokenizer=None,
    *,
    batch_size: int,
    sequence_length: int | None = None,
    seed: int,
    objective: Objective = "sop",
    num_predictions: int | None = None,
    rates: MaskingRates | None = None,
    short_sequence_probability: float | None = None,
    swap_probability: float = 0.5,
    word_segmenter=None,
    shards: Sequence[int] | None = None,
    verify: bool = True,
) -> tf.data.Dataset:
    """Makes a finite dataset for evaluation: each pair once, masks fixed.

    The last batch is filled up with empty rows of weight 0, so that all
    batches have one shape.

    Args:
        source: as in `pretraining_dataset`, like all other arguments.
        tokenizer: the tokenizer. Defaults to the one stored in prepared data.
        batch_size: int.
        sequence_length: int. Defaults to that of prepared data.
        seed: int. Same seed, same pairs and masks.
        objective: string. Defaults to `"sop"`.
        num_predictions: int. Defaults to the masking rate times
            `sequence_length`, rounded up.
        rates: `MaskingRates`. Defaults to the published ones.
        short_sequence_probability: float. Defaults to `0.1` for text.
        swap_probability: float. Defaults to `0.5`.
        word_segmenter: function. Defaults to `None`.
        shards: sequence of int. Defaults to all.
        verify: bool. Defaults to `True`.

    Returns:
        A `tf.data.Dataset` with the elements of `pretraining_dataset`, whose
        length is known.
    """
    check_count("batch_size", batch_size, 1)
    if is_prepared(source):
        reader = open_prepared(
            source,
            tokenizer,
            sequence_length=sequence_length,
            num_predictions=num_predictions,
            rates=rates,
            seed=seed,
            objective=objective,
            swap_probability=swap_probability,
            short_sequence_probability=short_sequence_probability,
            word_segmenter=word_segmenter,
            shards=shards,
            verify=verify,
        )
        return evaluation_batches(reader, batch_size=batch_size)
    _check_only_for_prepared(shards=shards)
    corpus, make_batch, pairing = _from_text(
        source,
        tokenizer,
        word_segmenter,
        num_predictions,
        rates,
        sequence_length=sequence_length,
        seed=seed,
        objective=objective,
        short_sequence_probability=short_sequence_probability,
        swap_probability=swap_probability,
    )
    return corpus_evaluation_batches(corpus, make_batch, pairing, batch_size)


def _from_text(
    source, tokenizer, word_segmenter, num_predictions, rates, **pairing
):
    """The corpus of a source in memory, with what makes its batches."""
    for name, value in (
        ("tokenizer", tokenizer),
        ("sequence_length", pairing["sequence_length"]),
    ):
        if value is None:
            raise TypeError(
                f"`{name}` is missing. Text needs a tokenizer and a sequence "
                "length; only a folder of prepared data brings its own."
            )
    if pairing["short_sequence_probability"] is None:
        pairing["short_sequence_probability"] = _SHORT_SEQUENCE_PROBABILITY
    make_batch = BatchMaker(
        tokenizer, pairing["sequence_length"], num_predictions, rates
    )
    if not isinstance(source, TokenizedCorpus):
        documents = read_documents(source) if are_files(source) else source
        source = tokenize_corpus(documents, tokenizer, word_segmenter)
    check_same_tokenizer(source, tokenizer)
    return source, make_batch, pairing


def _check_workers(batch_size, worker_index, num_workers):
    check_count("num_workers", num_workers, 1)
    check_count("worker_index", worker_index, 0)
    if worker_index >= num_workers:
        raise ValueError(
            "`worker_index` counts from 0 and must be less than `num_workers`. "
            f"Received: worker_index={worker_index}, num_workers={num_workers}."
        )
    if batch_size % num_workers:
        raise ValueError(
            "`batch_size` is the batch of all workers together and must be a "
            f"multiple of `num_workers`. Received: batch_size={batch_size}, "
            f"num_workers={num_workers}."
        )


def _check_only_for_prepared(**arguments):
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"`{name}` is for prepared data only. Received: "
                f"{name}={value!r} with text. Write a folder with "
                "`keras-albert prepare` and pass it."
            )
