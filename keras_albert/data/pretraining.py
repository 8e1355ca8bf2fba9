"""Batches for pretraining, as a pure function of the seed and the step.

    TokenizedCorpus
      -> plan_segment_pairs     one small row per example, anew each epoch
      -> shuffle, batch         rows only, in Python
      -> gather, pack, mask     TensorFlow ops, in parallel, order kept
      -> (inputs, targets, sample_weights)

Nothing is read or masked before `start_step`: the step gives the epoch and
the place in it by counting, so that training resumes at once.
"""

import dataclasses
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_albert.data.corpus import read_documents
from keras_albert.data.counter_random import derive_key
from keras_albert.data.counter_random import random_bits
from keras_albert.data.masking import MaskingRates
from keras_albert.data.masking import default_num_predictions
from keras_albert.data.masking import mask_tokens
from keras_albert.data.segment_pairs import Objective
from keras_albert.data.segment_pairs import count_examples
from keras_albert.data.segment_pairs import plan_segment_pairs
from keras_albert.data.tokenized_corpus import TokenizedCorpus
from keras_albert.data.tokenized_corpus import tokenize_corpus

_SHUFFLE_KEY = 0x53485546
_MASK_KEY = 0x4D41534B
_COLUMNS = {
    "first_start": "int64",
    "first_length": "int32",
    "second_start": "int64",
    "second_length": "int32",
    "sentence_order": "int32",
    "sentence_order_weight": "float32",
    "key": "int64",
}


def pretraining_dataset(
    corpus,
    tokenizer,
    *,
    batch_size: int,
    sequence_length: int,
    seed: int,
    start_step: int = 0,
    objective: Objective = "sop",
    num_predictions: int | None = None,
    rates: MaskingRates | None = None,
    short_sequence_probability: float = 0.1,
    swap_probability: float = 0.5,
    word_segmenter=None,
) -> tf.data.Dataset:
    """Makes an endless stream of batches for `AlbertPretrainer.fit`.

    Pairs, order and masks are drawn afresh in each epoch. Batches run across
    the borders of epochs, so that no example is dropped.

    Args:
        corpus: `TokenizedCorpus`; or files, as for `read_documents`; or an
            iterable of documents, each a list of lines.
        tokenizer: the tokenizer that made, or will make, the corpus.
        batch_size: int. B.
        sequence_length: int. S, with `[CLS]` and the two `[SEP]`.
        seed: int. Same seed, same batches.
        start_step: int. The number of batches to leave out at the beginning.
            Defaults to `0`.
        objective: `"sop"`, `"nsp"` or `"none"`, as in `plan_segment_pairs`.
            Defaults to `"sop"`.
        num_predictions: int. P, the most tokens predicted per example.
            Defaults to the masking rate times `sequence_length`, rounded up:
            20 for 128.
        rates: `MaskingRates`. Defaults to the published ones.
        short_sequence_probability: float. Share of shorter examples. Defaults
            to `0.1`.
        swap_probability: float. Share of pairs with label 1. Defaults to
            `0.5`.
        word_segmenter: function from a sentence to its words, for files and
            documents only; see `tokenize_corpus`. Defaults to `None`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`:
        `inputs`: dict of int32 `token_ids`, `segment_ids`, `padding_mask` of
        shape `(B, S)` and `mask_positions` of shape `(B, P)`. `targets`: dict
        of int32 `masked_lm` `(B, P)` and `sentence_order` `(B,)`, 1 = swapped.
        `sample_weights`: dict of float32 with the keys and shapes of the
        targets, 0 where there is nothing to predict.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If the corpus has no text, does not belong to the
            tokenizer or has no sentence order to learn, or if an argument is
            out of range.

    Example:

    ```python
    dataset = keras_albert.data.pretraining_dataset(
        "corpus/*.txt.gz",
        tokenizer,
        batch_size=64,
        sequence_length=128,
        seed=1,
    )
    pretrainer.fit(dataset, steps_per_epoch=1000, epochs=10)
    ```
    """
    _check_count("batch_size", batch_size, 1)
    _check_count("start_step", start_step, 0)
    rates = rates or MaskingRates()
    corpus = _as_corpus(corpus, tokenizer, word_segmenter)
    pairing = {
        "sequence_length": sequence_length,
        "seed": seed,
        "objective": objective,
        "short_sequence_probability": short_sequence_probability,
        "swap_probability": swap_probability,
    }
    # The first plan raises what is wrong with the arguments, before any work.
    _check_not_empty(plan_segment_pairs(corpus, epoch=0, **pairing))

    def generate():
        yield from _endless_batches(corpus, pairing, batch_size, start_step)

    rows = _dataset_of_rows(generate, batch_size, tf.data.INFINITE_CARDINALITY)
    make_batch = _batch_maker(
        corpus, tokenizer, sequence_length, num_predictions, rates
    )
    return _map_in_order(rows, make_batch)


def evaluation_dataset(
    corpus,
    tokenizer,
    *,
    batch_size: int,
    sequence_length: int,
    seed: int,
    objective: Objective = "sop",
    num_predictions: int | None = None,
    rates: MaskingRates | None = None,
    short_sequence_probability: float = 0.1,
    swap_probability: float = 0.5,
    word_segmenter=None,
) -> tf.data.Dataset:
    """Makes a finite dataset for evaluation: each pair once, masks fixed.

    The last batch is filled up with empty rows of weight 0, so that all
    batches have one shape.

    Args:
        corpus: as in `pretraining_dataset`, like all other arguments.
        tokenizer: the tokenizer.
        batch_size: int.
        sequence_length: int.
        seed: int. Same seed, same pairs and masks.
        objective: string. Defaults to `"sop"`.
        num_predictions: int. Defaults to the masking rate times
            `sequence_length`, rounded up.
        rates: `MaskingRates`. Defaults to the published ones.
        short_sequence_probability: float. Defaults to `0.1`.
        swap_probability: float. Defaults to `0.5`.
        word_segmenter: function. Defaults to `None`.

    Returns:
        A `tf.data.Dataset` with the elements of `pretraining_dataset`, whose
        length is known.
    """
    _check_count("batch_size", batch_size, 1)
    rates = rates or MaskingRates()
    corpus = _as_corpus(corpus, tokenizer, word_segmenter)
    plan = plan_segment_pairs(
        corpus,
        sequence_length=sequence_length,
        seed=seed,
        objective=objective,
        short_sequence_probability=short_sequence_probability,
        swap_probability=swap_probability,
    )
    _check_not_empty(plan)
    rows = _plan_rows(plan, seed, epoch=0)
    num_batches = -(-len(plan) // batch_size)

    def generate():
        for step in range(num_batches):
            part = slice(step * batch_size, (step + 1) * batch_size)
            batch = {name: column[part] for name, column in rows.items()}
            missing = batch_size - len(batch["key"])
            yield {
                name: np.pad(column, [0, missing])
                for name, column in batch.items()
            }

    make_batch = _batch_maker(
        corpus, tokenizer, sequence_length, num_predictions, rates
    )
    rows_dataset = _dataset_of_rows(generate, batch_size, num_batches)
    return _map_in_order(rows_dataset, make_batch)


def _endless_batches(corpus, pairing, batch_size, start_step):
    """Yields batches of shuffled plan rows, from `start_step` on."""
    epoch, skip = 0, start_step * batch_size
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
        num_batches = len(rows["key"]) // batch_size
        for step in range(num_batches):
            part = slice(step * batch_size, (step + 1) * batch_size)
            yield {name: column[part] for name, column in rows.items()}
        used = num_batches * batch_size
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
    key = derive_key(_MASK_KEY, seed, epoch, index).view("int64")
    return {
        name: key if name == "key" else getattr(plan, name).astype(dtype)
        for name, dtype in _COLUMNS.items()
    }


def _dataset_of_rows(generate, batch_size, cardinality):
    signature = {
        name: tf.TensorSpec((batch_size,), dtype)
        for name, dtype in _COLUMNS.items()
    }
    dataset = tf.data.Dataset.from_generator(
        generate, output_signature=signature
    )
    return dataset.apply(tf.data.experimental.assert_cardinality(cardinality))


def _map_in_order(rows, make_batch):
    dataset = rows.map(
        make_batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )
    return dataset.prefetch(tf.data.AUTOTUNE)


def _batch_maker(corpus, tokenizer, sequence_length, num_predictions, rates):
    """Returns the function from plan rows to a batch, in TensorFlow ops."""
    if num_predictions is None:
        num_predictions = default_num_predictions(
            sequence_length, rates.masking_rate
        )
    _check_count("num_predictions", num_predictions, 1)
    num_predictions = min(num_predictions, sequence_length)
    # One gather fetches both: the lowest bit says whether a word starts.
    pieces = corpus.token_ids * np.int32(2) + corpus.word_starts
    with tf.device("CPU:0"):
        pieces = tf.constant(pieces, tf.int32)
        replacement_ids = tf.constant(tokenizer.replacement_ids, tf.int32)
    special = _special_flags(tokenizer)

    def make_batch(rows):
        packed = _pack(rows, pieces, tokenizer, sequence_length)
        token_ids = packed["token_ids"]
        masked = mask_tokens(
            token_ids,
            packed["is_text"] & ~tf.gather(special, token_ids),
            packed["word_starts"],
            packed["num_tokens"],
            tf.bitcast(rows["key"], tf.uint64),
            num_predictions=num_predictions,
            mask_token_id=tokenizer.mask_token_id,
            replacement_ids=replacement_ids,
            rates=rates,
        )
        inputs = {
            "token_ids": masked["token_ids"],
            "segment_ids": packed["segment_ids"],
            "padding_mask": packed["padding_mask"],
            "mask_positions": masked["mask_positions"],
        }
        targets = {
            "masked_lm": masked["mask_ids"],
            "sentence_order": rows["sentence_order"],
        }
        sample_weights = {
            "masked_lm": masked["mask_weights"],
            "sentence_order": rows["sentence_order_weight"],
        }
        return inputs, targets, sample_weights

    return make_batch


def _pack(rows, pieces, tokenizer, sequence_length):
    """Gathers the segments and packs `[CLS] A [SEP] B [SEP]`.

    An example of one segment is `[CLS] A [SEP]`.
    """
    place = tf.range(sequence_length)  # (S,)
    first = rows["first_length"][:, None]  # (B, 1)
    second = rows["second_length"][:, None]
    has_second = tf.cast(second > 0, tf.int32)
    end_of_first = first + 1
    num_tokens = first + second + 2 + has_second
    in_first = (place >= 1) & (place < end_of_first)  # (B, S)
    in_second = (place > end_of_first) & (place < num_tokens - 1)
    real = place < num_tokens
    source = tf.where(
        in_first,
        rows["first_start"][:, None] + tf.cast(place - 1, tf.int64),
        rows["second_start"][:, None]
        + tf.cast(place - end_of_first - 1, tf.int64),
    )
    is_text = in_first | in_second
    gathered = tf.gather(pieces, tf.where(is_text, source, 0))
    is_sep = (place == end_of_first) | (place == num_tokens - 1)
    token_ids = tf.where(is_text, gathered // 2, tokenizer.pad_token_id)
    token_ids = tf.where(is_sep, tokenizer.sep_token_id, token_ids)
    token_ids = tf.where(place == 0, tokenizer.cls_token_id, token_ids)
    return {
        "token_ids": token_ids,
        "segment_ids": tf.cast((place > end_of_first) & real, tf.int32),
        "padding_mask": tf.cast(real, tf.int32),
        "is_text": is_text,
        "word_starts": is_text & (gathered % 2 == 1),
        "num_tokens": num_tokens[:, 0],
    }


def _special_flags(tokenizer):
    flags = np.zeros(tokenizer.vocabulary_size(), "bool")
    flags[np.asarray(tokenizer.special_token_ids)] = True
    return tf.constant(flags)


def _as_corpus(corpus, tokenizer, word_segmenter):
    if not isinstance(corpus, TokenizedCorpus):
        documents = read_documents(corpus) if _are_files(corpus) else corpus
        corpus = tokenize_corpus(documents, tokenizer, word_segmenter)
    check_same_tokenizer(corpus, tokenizer)
    return corpus


def _are_files(corpus):
    if isinstance(corpus, str | Path):
        return True
    return isinstance(corpus, list | tuple) and all(
        isinstance(item, str | Path) for item in corpus
    )


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


def _check_count(name, value, smallest):
    if not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(
            f"`{name}` must be an integer of at least {smallest}. "
            f"Received: {name}={value!r}."
        )


def _check_not_empty(plan):
    if not len(plan):
        raise ValueError(
            "The corpus gives no example. Pass documents that hold text."
        )


@dataclasses.dataclass(frozen=True)
class ExplainedTarget:
    """One prediction: where, what was shown and what is right."""

    position: int
    shown: str
    target: str


@dataclasses.dataclass(frozen=True)
class ExplainedExample:
    """An example in words: what was written, what the model sees and must say.

    Args:
        original: list of strings. All pieces before masking, with the special
            tokens, without padding.
        shown: list of strings. The pieces that the model sees.
        targets: list of `ExplainedTarget`, by position.
        first: string. Text of segment A before masking.
        second: string. Text of segment B; empty if there is none.
        swapped: bool, or `None` if the example has no pair. Label of the
            sentence-order task.
    """

    original: list[str]
    shown: list[str]
    targets: list[ExplainedTarget]
    first: str
    second: str
    swapped: bool | None


def explain_example(
    inputs, targets, sample_weights, tokenizer, index: int = 0
) -> ExplainedExample:
    """Puts one example of a batch into words.

    Args:
        inputs: dict, as from `pretraining_dataset`.
        targets: dict, as from `pretraining_dataset`.
        sample_weights: dict, as from `pretraining_dataset`.
        tokenizer: the tokenizer of the dataset.
        index: int. Which example of the batch. Defaults to `0`.

    Returns:
        An `ExplainedExample`.

    Example:

    ```python
    inputs, targets, weights = next(iter(dataset))
    example = explain_example(inputs, targets, weights, tokenizer)
    print(example.first, example.second, example.swapped)
    ```
    """
    row = {name: np.asarray(value)[index] for name, value in inputs.items()}
    real = row["padding_mask"] == 1
    shown = row["token_ids"][real]
    segments = row["segment_ids"][real]
    predicted = np.asarray(sample_weights["masked_lm"])[index] > 0
    positions = row["mask_positions"][predicted]
    ids = np.asarray(targets["masked_lm"])[index][predicted]
    original = shown.copy()
    original[positions] = ids
    has_pair = np.asarray(sample_weights["sentence_order"])[index] > 0
    label = bool(np.asarray(targets["sentence_order"])[index] == 1)
    to_piece = tokenizer.id_to_token
    text = [
        _text_of(original[(segments == segment)], tokenizer)
        for segment in (0, 1)
    ]
    return ExplainedExample(
        original=[to_piece(int(i)) for i in original],
        shown=[to_piece(int(i)) for i in shown],
        targets=[
            ExplainedTarget(int(p), to_piece(int(shown[p])), to_piece(int(i)))
            for p, i in zip(positions, ids, strict=True)
        ],
        first=text[0],
        second=text[1],
        swapped=label if has_pair else None,
    )


def _text_of(token_ids, tokenizer):
    edges = [tokenizer.cls_token_id, tokenizer.sep_token_id]
    inner = token_ids[~np.isin(token_ids, edges)].tolist()
    return tokenizer.detokenize(inner) if inner else ""
