"""From packed segments to what `AlbertPretrainer.fit` takes: masks and labels.

The last step of every source of examples. Pure TensorFlow ops, with a key per
row as the only source of randomness.
"""

import os

import numpy as np
import tensorflow as tf

from keras_albert.data.masking import MaskingRates
from keras_albert.data.masking import default_num_predictions
from keras_albert.data.masking import mask_tokens

# Rows that are worked on together, whatever the batch size: an op on few rows
# costs mostly its call.
BLOCK_ROWS = 256
MASK_KEY = 0x4D41534B


class BatchMaker:
    """Masks packed segments and puts them into the structure of a batch.

    Args:
        tokenizer: the tokenizer of the text.
        sequence_length: int. S.
        num_predictions: int. P; `None` for the masking rate times
            `sequence_length`, rounded up.
        rates: `MaskingRates`; `None` for the published ones.
    """

    def __init__(self, tokenizer, sequence_length, num_predictions, rates):
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.rates = rates or MaskingRates()
        if num_predictions is None:
            num_predictions = default_num_predictions(
                sequence_length, self.rates.masking_rate
            )
        check_count("num_predictions", num_predictions, 1)
        self.num_predictions = min(num_predictions, sequence_length)
        flags = np.zeros(tokenizer.vocabulary_size(), "bool")
        flags[np.asarray(tokenizer.special_token_ids)] = True
        # Constants belong to the CPU, as the dataset does.
        with tf.device("CPU:0"):
            self._special = tf.constant(flags)
            self._replacement_ids = tf.constant(
                tokenizer.replacement_ids, tf.int32
            )

    def __call__(self, layout, text_ids, word_starts, order, weight, keys):
        """Makes a batch.

        Args:
            layout: `PairLayout`.
            text_ids: int32 tensor of shape `(B, S)`, see `PairLayout.pack`.
            word_starts: bool tensor of shape `(B, S)`.
            order: int32 tensor of shape `(B,)`. Labels of sentence order.
            weight: float32 tensor of shape `(B,)`. Their weights.
            keys: uint64 tensor of shape `(B,)`.

        Returns:
            `(inputs, targets, sample_weights)`, see `pretraining_dataset`.
        """
        inputs = layout.pack(text_ids, self.tokenizer)
        is_text = layout.is_text
        token_ids = inputs["token_ids"]
        masked = mask_tokens(
            token_ids,
            is_text & ~tf.gather(self._special, token_ids),
            is_text & word_starts,
            layout.num_tokens[:, 0],
            keys,
            num_predictions=self.num_predictions,
            mask_token_id=self.tokenizer.mask_token_id,
            replacement_ids=self._replacement_ids,
            rates=self.rates,
        )
        inputs["token_ids"] = masked["token_ids"]
        inputs["mask_positions"] = masked["mask_positions"]
        targets = {"masked_lm": masked["mask_ids"], "sentence_order": order}
        sample_weights = {
            "masked_lm": masked["mask_weights"],
            "sentence_order": weight,
        }
        return inputs, targets, sample_weights


def map_in_order(dataset, function):
    """Maps in parallel and keeps the order.

    The parallel calls share the cores, one each: `tf.data.AUTOTUNE` settles
    on fewer and leaves a third of two cores idle. Splitting up single ops as
    well only costs time.

    Args:
        dataset: `tf.data.Dataset`.
        function: TensorFlow function of an element.

    Returns:
        A `tf.data.Dataset`.
    """
    dataset = dataset.map(
        as_written(function),
        num_parallel_calls=len(os.sched_getaffinity(0)),
        deterministic=True,
    )
    options = tf.data.Options()
    options.threading.max_intra_op_parallelism = 1
    return dataset.with_options(options)


def as_written(function):
    """Spares a function the search for Python loops to rewrite as a graph.

    There are none in this package, and the search takes seconds.

    Args:
        function: TensorFlow function.

    Returns:
        The function, for `tf.data.Dataset.map`.
    """
    return tf.autograph.experimental.do_not_convert(function)


def blocks_to_batches(blocks, batch_size, cardinality):
    """Cuts blocks of rows into batches.

    Args:
        blocks: `tf.data.Dataset`.
        batch_size: int.
        cardinality: int. The number of batches; what blocks hold beyond it
            is left out.

    Returns:
        A `tf.data.Dataset`.
    """
    dataset = blocks.rebatch(batch_size, drop_remainder=True)
    if cardinality != tf.data.INFINITE_CARDINALITY:
        dataset = dataset.take(cardinality)
    dataset = dataset.apply(
        tf.data.experimental.assert_cardinality(cardinality)
    )
    return dataset.prefetch(tf.data.AUTOTUNE)


def check_count(name, value, smallest):
    """Raises `ValueError` unless `value` is an integer of a minimum size.

    Args:
        name: string. How the user calls it.
        value: what the user gave.
        smallest: int.
    """
    if not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(
            f"`{name}` must be an integer of at least {smallest}. "
            f"Received: {name}={value!r}."
        )


def check_index(index, number, name="index"):
    """Raises `ValueError` unless `index` counts one of `number` examples.

    Args:
        index: int.
        number: int.
        name: string. How the user calls it. Defaults to `"index"`.
    """
    if not 0 <= index < number:
        raise ValueError(
            f"`{name}` must lie between 0 and {number - 1:,}. "
            f"Received: {name}={index}."
        )
