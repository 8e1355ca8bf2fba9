"""Reads the TFRecords that Google's pretraining script wrote.

    input_ids             -> token_ids
    input_mask            -> padding_mask
    segment_ids           -> segment_ids
    masked_lm_positions   -> mask_positions
    masked_lm_ids         -> targets["masked_lm"]
    masked_lm_weights     -> sample_weights["masked_lm"]
    next_sentence_labels  -> targets["sentence_order"]

In files of ALBERT's `create_pretraining_data.py` the label 1 means that the
segments are swapped, or that the second one comes from another document, which
that script does with a chunk of one sentence; 0 means in order. In files of
BERT's script 1 means from another document.
"""

import tensorflow as tf
from google.protobuf.message import DecodeError

from keras_albert.data.corpus import find_files
from keras_albert.data.example_batches import check_count

_SHUFFLE_EXAMPLES = 16384
# Feature, and whether its length is that of the sequence.
_LISTS = {
    "input_ids": True,
    "input_mask": True,
    "segment_ids": True,
    "masked_lm_positions": False,
    "masked_lm_ids": False,
    "masked_lm_weights": False,
}
_LABEL = "next_sentence_labels"


def google_records(
    files,
    *,
    batch_size: int,
    seed: int | None = None,
    start_step: int = 0,
    sequence_length: int | None = None,
    num_predictions: int | None = None,
) -> tf.data.Dataset:
    """Makes batches of examples that Google's script has masked already.

    Their masks are the same in each epoch. To have new ones, and any shuffled
    order at any step at once, prepare the text with `keras-albert prepare`.

    Args:
        files: string or path, or a list of them; patterns work.
        batch_size: int. B.
        seed: int. Shuffles, anew in each epoch, and goes on for ever. Defaults
            to `None`: one pass in the order of the files, for evaluation, the
            last batch filled up with rows of weight 0.
        start_step: int. The number of batches to leave out; they are read and
            dropped. Defaults to `0`.
        sequence_length: int. S. Defaults to that of the first example.
        num_predictions: int. P. Defaults to that of the first example.

    Returns:
        A `tf.data.Dataset` with the elements of `pretraining_dataset`. The
        label of `sentence_order` is the one stored: 1 = swapped in files of
        ALBERT's script.

    Raises:
        FileNotFoundError: If a file is missing or a pattern matches nothing.
        ValueError: If a file is no such TFRecord, or has other lengths.

    Example:

    ```python
    dataset = keras_albert.data.google_records(
        "pretraining.tfrecord-*", batch_size=64, seed=1
    )
    ```
    """
    check_count("batch_size", batch_size, 1)
    check_count("start_step", start_step, 0)
    paths = [str(path) for path in find_files(files)]
    lengths = {True: sequence_length, False: num_predictions}
    for path in paths:
        _check_first(path, lengths)
    features = {
        name: tf.io.FixedLenFeature(
            [lengths[is_sequence]],
            tf.float32 if name == "masked_lm_weights" else tf.int64,
        )
        for name, is_sequence in _LISTS.items()
    }
    features[_LABEL] = tf.io.FixedLenFeature([1], tf.int64)
    records = _records(paths, seed)
    batches = records.batch(batch_size, drop_remainder=seed is not None)
    return (
        batches.skip(start_step)
        .map(
            lambda batch: _to_batch(batch, features, batch_size),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        .prefetch(tf.data.AUTOTUNE)
    )


def _records(paths, seed):
    if seed is None:
        return tf.data.TFRecordDataset(paths)
    files = tf.data.Dataset.from_tensor_slices(paths)
    files = files.shuffle(len(paths), seed=seed)
    records = files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=min(len(paths), 8),
    )
    return records.shuffle(_SHUFFLE_EXAMPLES, seed=seed).repeat()


def _to_batch(records, features, batch_size):
    number = tf.shape(records)[0]
    # A row that fills the last batch repeats the last example, of no weight.
    row = tf.range(batch_size)
    real = row < number
    parsed = tf.io.parse_example(
        tf.gather(records, tf.minimum(row, number - 1)), features
    )
    parsed = {
        name: value if value.dtype == tf.float32 else tf.cast(value, tf.int32)
        for name, value in parsed.items()
    }
    inputs = {
        "token_ids": parsed["input_ids"],
        "segment_ids": parsed["segment_ids"],
        "padding_mask": parsed["input_mask"],
        "mask_positions": parsed["masked_lm_positions"],
    }
    targets = {
        "masked_lm": parsed["masked_lm_ids"],
        "sentence_order": parsed[_LABEL][:, 0],
    }
    weight = tf.cast(real, tf.float32)
    sample_weights = {
        "masked_lm": parsed["masked_lm_weights"] * weight[:, None],
        "sentence_order": weight,
    }
    return inputs, targets, sample_weights


def _check_first(path, lengths):
    """Checks the first example of a file; fills in unknown lengths."""
    try:
        records = tf.data.TFRecordDataset(path).take(1)
        (record,) = list(records.as_numpy_iterator())
        example = tf.train.Example.FromString(record)
    except (tf.errors.DataLossError, ValueError, DecodeError) as error:
        raise ValueError(
            f"{path} is no TFRecord of examples, or is empty. Expected a file "
            "that Google's create_pretraining_data.py wrote."
        ) from error
    found = {
        name: len(feature.int64_list.value or feature.float_list.value)
        for name, feature in example.features.feature.items()
    }
    missing = {*_LISTS, _LABEL} - set(found)
    if missing:
        raise ValueError(
            f"The examples of {path} lack {sorted(missing)}; they hold "
            f"{sorted(found)}. Expected a file that Google's "
            "create_pretraining_data.py wrote."
        )
    for name, is_sequence in (*_LISTS.items(), (_LABEL, None)):
        expected = 1 if is_sequence is None else lengths[is_sequence]
        if expected is None:
            expected = lengths[is_sequence] = found[name]
        if found[name] != expected:
            raise ValueError(
                f"`{name}` of {path} has {found[name]} values. Expected "
                f"{expected}, as {_why(is_sequence)}. Read files of other "
                "lengths as datasets of their own."
            )


def _why(is_sequence):
    if is_sequence is None:
        return "there is one label for each example"
    name = "sequence_length" if is_sequence else "num_predictions"
    return f"`{name}` says, or the lists and files before"
