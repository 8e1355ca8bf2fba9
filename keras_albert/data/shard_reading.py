"""From the shards of prepared data to batches: a TensorFlow graph throughout.

    windows of shards          in the epoch's order           (shard_order)
      -> records               shuffled within the window
      -> global batches        the same for any number of workers
      -> this worker's rows
      -> blocks of rows        parse, split, swap, trim, mask (graph_segments)
      -> batches

No Python runs per example or per batch, so that the whole can be handed to
the workers of a tf.data service. Rows are worked on in blocks of one size,
whatever the batch size, because small ops cost mostly their call.
"""

import dataclasses
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_albert.data import graph_segments
from keras_albert.data.data_service import through_service
from keras_albert.data.example_batches import BLOCK_ROWS
from keras_albert.data.example_batches import MASK_KEY
from keras_albert.data.example_batches import BatchMaker
from keras_albert.data.example_batches import as_written
from keras_albert.data.example_batches import blocks_to_batches
from keras_albert.data.example_batches import map_in_order
from keras_albert.data.graph_random import derive_key
from keras_albert.data.graph_random import randint
from keras_albert.data.graph_random import random_bits
from keras_albert.data.graph_random import sort_key
from keras_albert.data.graph_random import uniform
from keras_albert.data.pair_layout import pair_layout
from keras_albert.data.segment_pairs import Objective
from keras_albert.data.shard_order import SHARD_KEY
from keras_albert.data.shard_order import find_place
from keras_albert.data.shard_order import shards_per_window
from keras_albert.data.shards import Manifest

RECORD_KEY = 0x5245434F
PAIR_KEY = 0x50414952


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedReader:
    """What is needed to make examples of prepared data.

    Args:
        folder: path of the prepared data.
        manifest: its `Manifest`.
        make_batch: `BatchMaker`.
        seed: int.
        objective: `"sop"`, `"nsp"` or `"none"`.
        swap_probability: float.
        window_shards: int. Shards that are shuffled together; `None` for as
            many as fit into 64 MiB.
    """

    folder: Path
    manifest: Manifest
    make_batch: BatchMaker
    seed: int
    objective: Objective
    swap_probability: float
    window_shards: int | None = None

    def training_rows(self, batch_size, start_step, worker_index, num_workers):
        """Blocks of rows of an endless stream, from a step on.

        Args:
            batch_size: int. Rows of a global batch.
            start_step: int.
            worker_index: int.
            num_workers: int.

        Returns:
            A `tf.data.Dataset` of dicts of arrays of `BLOCK_ROWS` rows; see
            `examples`.
        """
        rows = self._windows(start_step * batch_size).prefetch(1)
        if num_workers > 1:
            share = batch_size // num_workers
            begin = worker_index * share
            mine = slice(begin, begin + share)
            rows = rows.rebatch(batch_size, drop_remainder=True)
            rows = rows.map(
                as_written(
                    lambda row: tf.nest.map_structure(
                        lambda column: column[mine], row
                    )
                )
            )
        return rows.rebatch(BLOCK_ROWS, drop_remainder=True)

    def evaluation_rows(self, batch_size):
        """Blocks of rows of all records, in the order in which they are stored.

        Empty rows at the end fill the last batch.

        Args:
            batch_size: int.

        Returns:
            A `tf.data.Dataset` of dicts of arrays.
        """
        missing = -self.manifest.num_examples % batch_size
        windows = tf.data.Dataset.range(self._num_windows)

        def read(window):
            rows = self._window_as_stored(window, 0)
            return self._with_others(rows) if self._is_nsp else rows

        rows = windows.map(as_written(read))
        if missing:
            empty = {
                "record": tf.fill([missing], ""),
                "position": tf.zeros([missing], tf.int64),
                "epoch": tf.zeros([missing], tf.int64),
            }
            if self._is_nsp:
                empty["other"] = tf.fill([missing], "")
            rows = rows.concatenate(tf.data.Dataset.from_tensors(empty))
        return rows.prefetch(1).rebatch(BLOCK_ROWS)

    def row(self, index, epoch):
        """One record, as a block of one row; without `"nsp"`.

        Args:
            index: int. Which example of the prepared data.
            epoch: int.

        Returns:
            A dict of arrays.
        """
        counts = [shard.num_examples for shard in self.manifest.shards]
        ends = np.cumsum(counts)
        shard = int(np.searchsorted(ends, index, side="right"))
        skipped = index - (ends[shard] - counts[shard])
        path = self.folder / self.manifest.shards[shard].name
        records = tf.data.TFRecordDataset(str(path)).skip(skipped).batch(1)
        return {
            "record": records.take(1).get_single_element(),
            "position": tf.constant([index], tf.int64),
            "epoch": tf.constant([epoch], tf.int64),
        }

    def examples(self, rows):
        """Makes examples of a block of rows.

        Args:
            rows: dict of `record` string, `position` int64 (the record's
                number in the prepared data) and `epoch` int64 of shape
                `(B,)`; with `"nsp"` also `other` string, a record of another
                document or nothing.

        Returns:
            `(inputs, targets, sample_weights)`, see `pretraining_dataset`.
        """
        max_chunk_tokens = self.manifest.max_chunk_tokens
        records = rows["record"]
        if self._is_nsp:
            records = tf.concat([records, rows["other"]], axis=0)
        chunks = graph_segments.parse_chunks(records, max_chunk_tokens)
        segments = self._segments(rows, chunks)
        layout = pair_layout(
            segments.first.length,
            segments.second.length,
            self.make_batch.sequence_length,
        )
        # Tokens lie chunk after chunk; the bits of word starts lie in rows.
        token_starts, bit_starts = (
            [
                tf.gather(begin, segment.chunk) + segment.start
                for segment in (segments.first, segments.second)
            ]
            for begin in (
                chunks.token_start,
                8
                * chunks.word_start_bytes.shape[1]
                * tf.range(tf.shape(records)[0]),
            )
        )
        place = layout.sources(*bit_starts)
        byte = tf.gather(
            tf.reshape(chunks.word_start_bytes, [-1]),
            tf.bitwise.right_shift(place, 3),
        )
        bit = tf.bitwise.right_shift(byte, tf.bitwise.bitwise_and(place, 7))
        # One token more: a block of empty rows has nothing to take from.
        token_ids = tf.concat([chunks.token_ids, [0]], axis=0)
        return self.make_batch(
            layout,
            tf.gather(token_ids, layout.sources(*token_starts)),
            tf.bitwise.bitwise_and(bit, 1) == 1,
            segments.sentence_order,
            segments.sentence_order_weight,
            self._keys(MASK_KEY, rows),
        )

    def _segments(self, rows, chunks):
        keys = self._keys(PAIR_KEY, rows)
        longest = self.manifest.max_chunk_tokens
        length = self.make_batch.sequence_length
        if self.objective == "none":
            return graph_segments.single_segments(
                chunks, keys, max_tokens=length - 2, max_chunk_tokens=longest
            )
        return graph_segments.segment_pairs(
            chunks,
            keys,
            rows["other"] != "" if self._is_nsp else None,
            max_tokens=length - 3,
            max_chunk_tokens=longest,
            swap_probability=self.swap_probability,
        )

    def _keys(self, kind, rows):
        return derive_key(kind, self.seed, rows["epoch"], rows["position"])

    @property
    def _is_nsp(self):
        return self.objective == "nsp"

    @property
    def _shards(self):
        """Paths, counts and first positions of the shards with examples."""
        shards = self.manifest.shards
        counts = np.array([s.num_examples for s in shards], "int64")
        paths = np.array([str(self.folder / s.name) for s in shards])
        first = np.cumsum(counts) - counts
        filled = counts > 0
        return paths[filled], counts[filled], first[filled]

    @property
    def _window_size(self):
        paths, counts, _ = self._shards
        if self.window_shards is not None:
            return min(self.window_shards, len(counts))
        return shards_per_window([Path(p).stat().st_size for p in paths])

    @property
    def _num_windows(self):
        return -(-len(self._shards[1]) // self._window_size)

    def _windows(self, num_skipped):
        """The shuffled records of window after window, epoch after epoch."""
        num_windows, window_size = self._num_windows, self._window_size
        _, counts, _ = self._shards
        start = find_place(counts, window_size, self.seed, num_skipped)
        first = start.epoch * num_windows + start.window

        def read(number):
            epoch, window = number // num_windows, number % num_windows
            key = derive_key(SHARD_KEY, self.seed, epoch)
            bits = random_bits(key, tf.range(len(counts), dtype=tf.int64))
            order = tf.argsort(sort_key(bits), stable=True)
            window = self._window_as_stored(window, epoch, order)
            if self._is_nsp:
                window = self._with_others(window)
            key = derive_key(RECORD_KEY, self.seed, epoch)
            bits = random_bits(key, window["position"])
            order = tf.argsort(sort_key(bits), stable=True)
            order = order[tf.where(number == first, start.offset, 0) :]
            return {name: tf.gather(c, order) for name, c in window.items()}

        return tf.data.Dataset.range(first, tf.int64.max).map(as_written(read))

    def _window_as_stored(self, window, epoch, shard_order=None):
        """All records of a window, shard after shard."""
        paths, counts, first = self._shards
        if shard_order is None:
            shard_order = tf.range(len(paths))
        size = self._window_size
        begin = tf.cast(window, tf.int32) * size
        shards = shard_order[begin : begin + size]
        counts = tf.gather(counts, shards)
        paths = tf.gather(paths, shards)
        number = tf.reduce_sum(counts)
        records = tf.data.TFRecordDataset(paths)
        # One more than there should be, to see it if there are more.
        records = records.batch(number + 1).get_single_element()
        found = tf.size(records, tf.int64)
        check = tf.debugging.Assert(
            found == number,
            [
                "Shards of prepared data hold another number of examples than "
                "their manifest says; copy the folder again. Examples, "
                "expected examples and shards:",
                found,
                number,
                paths,
            ],
            summarize=8,
        )
        with tf.control_dependencies([check] if check is not None else []):
            before = tf.gather(first, shards) - tf.cumsum(
                counts, exclusive=True
            )
            position = tf.range(number) + tf.repeat(before, counts)
        return {
            "record": records,
            "position": position,
            "epoch": tf.fill([number], tf.cast(epoch, tf.int64)),
        }

    def _with_others(self, rows):
        """Adds a record of another document to the rows with label 1.

        The records of a document follow one another, so that those of others
        are all but one range of the window. Any of them is as likely.
        """
        documents = tf.io.parse_example(
            rows["record"],
            {"document": tf.io.FixedLenFeature([], tf.int64)},
        )["document"]
        number = tf.size(documents)
        begins = tf.concat([[True], documents[1:] != documents[:-1]], axis=0)
        first = tf.boolean_mask(tf.range(number), begins)
        ends = tf.concat([first[1:], [number]], axis=0)
        group = tf.cumsum(tf.cast(begins, tf.int32)) - 1
        first, same = tf.gather(first, group), tf.gather(ends - first, group)
        keys = self._keys(PAIR_KEY, rows)
        others = number - same
        other = randint(
            random_bits(keys, graph_segments.OTHER), 0, tf.maximum(others, 1)
        )
        other += tf.where(other >= first, same, 0)
        share = uniform(random_bits(keys, graph_segments.SWAP))
        wanted = (share < self.swap_probability) & (others > 0)
        other = tf.where(wanted, other, 0)
        record = tf.where(wanted, tf.gather(rows["record"], other), "")
        return {**rows, "other": record}


def training_batches(
    reader: PreparedReader,
    *,
    batch_size: int,
    start_step: int,
    worker_index: int = 0,
    num_workers: int = 1,
    data_service: str | None = None,
) -> tf.data.Dataset:
    """Makes the endless stream of a worker's batches.

    Args:
        reader: `PreparedReader`.
        batch_size: int. Rows of a global batch.
        start_step: int.
        worker_index: int. Defaults to `0`.
        num_workers: int. Divides `batch_size`. Defaults to `1`.
        data_service: string. Address of a tf.data service that makes the
            examples. Defaults to `None`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`.
    """
    rows = reader.training_rows(
        batch_size, start_step, worker_index, num_workers
    )
    if data_service is None:
        blocks = map_in_order(rows, reader.examples)
    else:
        blocks = through_service(rows, reader.examples, data_service)
    return blocks_to_batches(
        blocks, batch_size // num_workers, tf.data.INFINITE_CARDINALITY
    )


def evaluation_batches(
    reader: PreparedReader, *, batch_size: int
) -> tf.data.Dataset:
    """Makes the batches of all examples once, with fixed pairs and masks.

    Args:
        reader: `PreparedReader`.
        batch_size: int.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, sample_weights)`.
    """
    blocks = map_in_order(reader.evaluation_rows(batch_size), reader.examples)
    num_batches = -(-reader.manifest.num_examples // batch_size)
    return blocks_to_batches(blocks, batch_size, num_batches)
