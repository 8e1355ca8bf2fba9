"""Batches from a corpus in memory, as a pure function of seed and step.

    TokenizedCorpus
      -> plan_segment_pairs     one small row per example, anew each epoch
      -> shuffle, cut in blocks rows only, in Python
      -> gather, pack, mask     TensorFlow ops, in parallel, order kept
      -> batches

Nothing is read or masked before the first step: it gives the epoch and the
place in it by counting, so that training resumes at once.
"""

import numpy as np
import tensorflow as tf

from keras_albert.data.counter_random import derive_key
from keras_albert.data.counter_random import random_bits
from keras_albert.data.example_batches import BLOCK_ROWS
from keras_albert.data.example_batches import MASK_KEY
from keras_albert.data.example_batches import BatchMaker
from keras_albert.data.example_batches import blocks_to_batches
from keras_albert.data.example_batches import check_index
from keras_albert.data.example_batches import map_in_order
from keras_albert.data.pair_layout import pair_layout
from keras_albert.data.segment_pairs import count_examples
from keras_albert.data.segment_pairs import plan_segment_pairs
from keras_albert.data.tokenized_corpus import TokenizedCorpus

_SHUFFLE_KEY = 0x53485546
_COLUMNS = {
    "first_start": "int64",
    "first_length": "int32",
    "second_start": "int64",
    "second_length": "int32",
    "sentence_order": "int32",
    "sentence_order_weight": "float32",
    "key": "int64",
}


def corpus_training_batches(
    corpus,
    make_batch,
    pairing,
    batch_size,
    start_step,
    worker_index=0,
    num_workers=1,
):
    """Makes an endless stream of batches.

    Args:
        corpus: `TokenizedCorpus`.
        make_batch: `BatchMaker`.
        pairing: dict of arguments for `plan_segment_pairs`.
        batch_size: int. Rows of a global batch.
        start_step: int.
        worker_index: int. Defaults to `0`.
        num_workers: int. Divides `batch_size`. Defaults to `1`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`.
    """
    # The first plan raises what is wrong with the arguments, before any work.
    _check_not_empty(plan_segment_pairs(corpus, epoch=0, **pairing))
    share = batch_size // num_workers
    batches_per_block = -(-BLOCK_ROWS // share)
    mine = (
        np.arange(batches_per_block * batch_size)
        .reshape(batches_per_block, num_workers, share)[:, worker_index]
        .ravel()
    )

    def generate():
        for rows in _endless_blocks(
            corpus,
            pairing,
            batches_per_block * batch_size,
            start_step * batch_size,
        ):
            yield {name: column[mine] for name, column in rows.items()}

    blocks = _dataset_of_rows(generate, len(mine))
    blocks = map_in_order(blocks, _row_filler(corpus, make_batch))
    return blocks_to_batches(blocks, share, tf.data.INFINITE_CARDINALITY)


def corpus_evaluation_batches(corpus, make_batch, pairing, batch_size):
    """Makes the batches of each pair once, the last one filled up.

    Args:
        corpus: `TokenizedCorpus`.
        make_batch: `BatchMaker`.
        pairing: dict of arguments for `plan_segment_pairs`.
        batch_size: int.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`.
    """
    plan = plan_segment_pairs(corpus, **pairing)
    _check_not_empty(plan)
    rows = _plan_rows(plan, pairing["seed"], epoch=0)
    num_batches = -(-len(plan) // batch_size)
    num_blocks = -(-num_batches * batch_size // BLOCK_ROWS)
    missing = num_blocks * BLOCK_ROWS - len(plan)
    rows = {name: np.pad(column, [0, missing]) for name, column in rows.items()}

    def generate():
        for start in range(0, num_blocks * BLOCK_ROWS, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            yield {name: column[part] for name, column in rows.items()}

    blocks = _dataset_of_rows(generate, BLOCK_ROWS)
    blocks = map_in_order(blocks, _row_filler(corpus, make_batch))
    return blocks_to_batches(blocks, batch_size, num_batches)


def corpus_example(corpus, tokenizer, index, *, sequence_length, seed, epoch=0):
    """Makes one example, as a batch of one row.

    Args:
        corpus: `TokenizedCorpus`.
        tokenizer: the tokenizer.
        index: int. Which example of the epoch's plan.
        sequence_length: int.
        seed: int.
        epoch: int. Defaults to `0`.

    Returns:
        `(inputs, targets, sample_weights)`.
    """
    check_same_tokenizer(corpus, tokenizer)
    plan = plan_segment_pairs(
        corpus, sequence_length=sequence_length, seed=seed, epoch=epoch
    )
    check_index(index, len(plan))
    rows = _plan_rows(plan, seed, epoch)
    make_batch = BatchMaker(tokenizer, sequence_length, None, None)
    fill = _row_filler(corpus, make_batch)
    return fill(
        {
            name: tf.constant(column[index : index + 1])
            for name, column in rows.items()
        }
    )


def _endless_blocks(corpus, pairing, block_size, skip):
    """Yields blocks of shuffled plan rows, the first `skip` rows left out."""
    epoch = 0
    while skip:
        num_examples = count_examples(corpus, epoch=epoch, **pairing)
        if skip < num_examples:
            break
        skip -= num_examples
        epoch += 1
    rest = None
    while True:
        rows = _shuffled_rows(corpus, pairing, epoch)
        rows = {name: column[skip:] for name, column in rows.items()}
        if rest is not None:
            rows = {n: np.concatenate([rest[n], rows[n]]) for n in rows}
        num_blocks = len(rows["key"]) // block_size
        for block in range(num_blocks):
            part = slice(block * block_size, (block + 1) * block_size)
            yield {name: column[part] for name, column in rows.items()}
        used = num_blocks * block_size
        rest = {name: column[used:] for name, column in rows.items()}
        skip = 0
        epoch += 1


def _shuffled_rows(corpus, pairing, epoch):
    plan = plan_segment_pairs(corpus, epoch=epoch, **pairing)
    rows = _plan_rows(plan, pairing["seed"], epoch)
    draw = random_bits(
        derive_key(_SHUFFLE_KEY, pairing["seed"], epoch), np.arange(len(plan))
    )
    order = np.argsort(draw, kind="stable")
    return {name: column[order] for name, column in rows.items()}


def _plan_rows(plan, seed, epoch):
    """The plan as columns, with the key of each example's masks."""
    index = np.arange(len(plan))
    key = derive_key(MASK_KEY, seed, epoch, index).view("int64")
    return {
        name: key if name == "key" else getattr(plan, name).astype(dtype)
        for name, dtype in _COLUMNS.items()
    }


def _dataset_of_rows(generate, num_rows):
    signature = {
        name: tf.TensorSpec((num_rows,), dtype)
        for name, dtype in _COLUMNS.items()
    }
    return tf.data.Dataset.from_generator(generate, output_signature=signature)


def _row_filler(corpus, make_batch):
    """Returns the function from plan rows to a batch, in TensorFlow ops."""
    # One gather fetches both: the lowest bit says whether a word starts.
    pieces = corpus.token_ids * np.int32(2) + corpus.word_starts
    with tf.device("CPU:0"):
        pieces = tf.constant(pieces, tf.int32)

    def fill(rows):
        layout = pair_layout(
            rows["first_length"],
            rows["second_length"],
            make_batch.sequence_length,
        )
        sources = layout.sources(rows["first_start"], rows["second_start"])
        taken = tf.gather(pieces, sources)
        return make_batch(
            layout,
            tf.bitwise.right_shift(taken, 1),
            tf.bitwise.bitwise_and(taken, 1) == 1,
            rows["sentence_order"],
            rows["sentence_order_weight"],
            tf.bitcast(rows["key"], tf.uint64),
        )

    return fill


def check_same_tokenizer(corpus: TokenizedCorpus, tokenizer) -> None:
    """Raises `ValueError` if another tokenizer made the corpus.

    Args:
        corpus: `TokenizedCorpus`.
        tokenizer: the tokenizer it is to be used with.
    """
    made_by = corpus.tokenizer_fingerprint
    if made_by and made_by != tokenizer.fingerprint():
        raise ValueError(
            "The corpus was made with another tokenizer. Received a corpus of "
            f"fingerprint {made_by[:12]} and a tokenizer of fingerprint "
            f"{tokenizer.fingerprint()[:12]}. Tokenize the corpus again, or "
            "load the tokenizer that made it."
        )
    largest = int(corpus.token_ids.max(initial=0))
    if largest >= tokenizer.vocabulary_size():
        raise ValueError(
            f"The corpus holds the token id {largest}, but the tokenizer has "
            f"only {tokenizer.vocabulary_size()} ids. Tokenize the corpus "
            "again with this tokenizer."
        )


def _check_not_empty(plan):
    if not len(plan):
        raise ValueError(
            "The corpus gives no example. Pass documents that hold text."
        )
