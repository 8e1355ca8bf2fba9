"""The judge is `segment_reference`: the stream, example by example."""

import hashlib
import itertools
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data.counter_random import derive_key
from keras_albert.data.masking import MaskingRates
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset
from keras_albert.data.shard_order import shard_order
from keras_albert.data.shards import read_manifest
from keras_albert.data.tokenized_corpus import tokenize_corpus
from tests.data import segment_reference as reference
from tests.data.conftest import PREPARED_LENGTH as LENGTH
from tests.data.conftest import digest
from tests.data.conftest import rows_of
from tests.data.conftest import take
from tests.data.conftest import toy_documents
from tests.data.conftest import write_prepared
from tests.data.test_masking import Reference

SEED = 3
RECORD_KEY = 0x5245434F
NO_MASKS = MaskingRates(mask_token_rate=0.0, random_token_rate=0.0)


@pytest.fixture
def make(prepared, toy_tokenizer):
    def make(function=pretraining_dataset, source=prepared, **arguments):
        settings = {"batch_size": 8, "seed": SEED, "tokenizer": toy_tokenizer}
        return function(source, **{**settings, **arguments})

    return make


@pytest.fixture(scope="module")
def stored(prepared):
    """The chunks of every shard, as written."""
    names = [shard.name for shard in read_manifest(prepared).shards]
    return [reference.read_shard(prepared / name) for name in names]


def as_stored(shards, window):
    """(position, chunk) of the shards of a window."""
    first = np.cumsum([0, *(len(shard) for shard in shards)])
    return [
        (int(first[shard]) + i, chunk)
        for shard in window
        for i, chunk in enumerate(shards[shard])
    ]


def stream(shards, window_shards):
    """(epoch, position, chunk, its window), in the order of training."""
    for epoch in itertools.count():
        order = shard_order(SEED, epoch, len(shards)).tolist()
        for start in range(0, len(order), window_shards):
            window = as_stored(shards, order[start : start + window_shards])
            key = derive_key(RECORD_KEY, SEED, epoch)
            for position, chunk in sorted(
                window, key=lambda item: reference.bits(key, item[0]) >> 1
            ):
                yield epoch, position, chunk, window


def packed(segments, toy_tokenizer):
    first, second, label, weight = segments
    row = reference.pack(first, second, toy_tokenizer, LENGTH)
    return {**row, "sentence_order": label, "weight/sentence_order": weight}


def expected_rows(examples, toy_tokenizer, objective="sop", share=0.5):
    for epoch, position, chunk, window in examples:
        key = reference.keys_of(reference.PAIR_KEY, SEED, epoch, position)
        if objective == "none":
            first = reference.tokens_of(chunk)
            first, _ = reference.trim(first, [], key, LENGTH - 2)
            yield packed((first, [], 0, 0.0), toy_tokenizer)
            continue
        other = None
        if objective == "nsp":
            others = [
                c for _, c in window if c["document"] != chunk["document"]
            ]
            other = others[reference.below(key, reference.OTHER, len(others))]
        pair = reference.pair(chunk, key, LENGTH - 3, share, other)
        yield packed(pair, toy_tokenizer)


def assert_rows(batches, expected):
    """Compares every row; there may be more in the batches."""
    rows = (
        {name: column[i].tolist() for name, column in batch.items()}
        for batch in batches
        for i in range(len(batch["token_ids"]))
    )
    for number, wanted in enumerate(expected):
        row = next(rows)
        found = {name: row[name] for name in wanted}
        assert found == wanted, f"row {number}"


@pytest.mark.parametrize(
    "objective, share", [("sop", 0.5), ("sop", 1.0), ("nsp", 0.5), ("none", 0)]
)
def test_evaluation_is_every_chunk_once_in_order(
    make, stored, toy_tokenizer, objective, share
):
    dataset = make(
        evaluation_dataset,
        rates=NO_MASKS,
        objective=objective,
        swap_probability=share,
        batch_size=30,
    )

    batches = take(dataset, -1)

    window = as_stored(stored, range(len(stored)))
    examples = [(0, position, chunk, window) for position, chunk in window]
    assert len(dataset) == len(batches) == -(-len(examples) // 30)
    assert_rows(
        batches, expected_rows(examples, toy_tokenizer, objective, share)
    )


@pytest.mark.parametrize(
    "objective, window_shards", [("sop", 2), ("sop", 1), ("nsp", 3)]
)
def test_training_is_the_shuffled_stream_of_epochs(
    make, stored, toy_tokenizer, objective, window_shards
):
    number = sum(map(len, stored))
    dataset = make(
        rates=NO_MASKS, objective=objective, window_shards=window_shards
    )

    batches = take(dataset, (2 * number + 50) // 8)

    examples = itertools.islice(stream(stored, window_shards), 8 * len(batches))
    assert_rows(batches, expected_rows(examples, toy_tokenizer, objective))


def test_small_corpora_are_one_window(make):
    usual = digest(take(make(), 40))

    assert digest(take(make(window_shards=5), 40)) == usual
    assert digest(take(make(window_shards=2), 40)) != usual


def test_masks_are_those_of_epoch_and_position(make, stored, toy_tokenizer):
    number = sum(map(len, stored))
    plain = take(make(rates=NO_MASKS), (2 * number) // 8)

    examples = stream(stored, len(stored))
    rows = ((batch, i) for batch in plain for i in range(8))
    for (batch, i), (epoch, position, chunk, _) in zip(
        rows, examples, strict=False
    ):
        if position % 7:
            continue  # the plain loop is slow
        key = reference.keys_of(reference.PAIR_KEY, SEED, epoch, position)
        first, second, *_ = reference.pair(chunk, key, LENGTH - 3)
        starts = [0, *(s for _, s in first), 0, *(s for _, s in second)]
        ids = batch["token_ids"][i]
        judge = Reference(
            ~np.isin(ids, toy_tokenizer.special_token_ids),
            np.pad(starts, [0, LENGTH - len(starts)]),
            batch["padding_mask"][i].sum(),
            reference.keys_of(reference.MASK_KEY, SEED, epoch, position),
            6,
            MaskingRates(),
        )
        real = batch["weight/masked_lm"][i] > 0
        assert batch["mask_positions"][i][real].tolist() == judge.chosen
        assert (batch["masked_lm"][i][real] == ids[judge.chosen]).all()


def test_epochs_differ_in_pairs_and_masks(make, stored):
    number = sum(map(len, stored))

    rows = rows_of(take(make(batch_size=1), 2 * number))

    assert len(set(rows[:number]) & set(rows[number:])) < 0.1 * number


@pytest.mark.parametrize("start_step", [1, 13, 1000])
@pytest.mark.parametrize("objective", ["sop", "nsp"])
def test_starting_late_equals_leaving_batches_out(make, start_step, objective):
    arguments = {"window_shards": 2, "objective": objective}
    late = take(make(start_step=start_step, **arguments), 30)

    early = make(**arguments).skip(start_step)

    assert digest(late) == digest(take(early, 30))


def test_starting_late_reads_no_earlier_shard(make, toy_tokenizer, tmp_path):
    corpus = tokenize_corpus(toy_documents(400), toy_tokenizer)
    folder = write_prepared(
        tmp_path, corpus, toy_tokenizer, sequence_length=LENGTH, num_shards=5
    )
    shards = read_manifest(folder).shards
    # What is prepared ahead must not reach into the next epoch.
    assert min(shard.num_examples for shard in shards) > 500
    earlier = shards[shard_order(SEED, 0, 5)[0]]
    start_step = earlier.num_examples // 8 + 1
    arguments = {"source": folder, "window_shards": 1, "verify": False}
    expected = take(make(start_step=start_step, **arguments), 4)
    (folder / earlier.name).write_bytes(b"no record at all")

    late = make(start_step=start_step, **arguments)

    assert digest(take(late, 4)) == digest(expected)
    with pytest.raises(tf.errors.DataLossError):
        take(make(**arguments), 1)


def test_the_rows_of_all_workers_are_the_batch(make):
    whole = take(make(start_step=2), 70)

    for num_workers in (2, 4):
        parts = [
            take(
                make(start_step=2, worker_index=i, num_workers=num_workers), 70
            )
            for i in range(num_workers)
        ]

        assert parts[0][0]["token_ids"].shape == (8 // num_workers, LENGTH)
        for batch, *shares in zip(whole, *parts, strict=True):
            for name, column in batch.items():
                together = np.concatenate([share[name] for share in shares])
                assert (together == column).all()


def test_parallel_work_changes_nothing(make, monkeypatch):
    usual = digest(take(make(), 60))

    for parallel in (1, 2, 4):
        monkeypatch.setattr(tf.data, "AUTOTUNE", parallel)
        assert digest(take(make(), 60)) == usual


SCRIPT = """
import hashlib, sys
from tests.data import test_shard_reading as t
from tests.data.conftest import ToyTokenizer
dataset = t.pretraining_dataset(
    sys.argv[1], ToyTokenizer(), batch_size=8, seed=t.SEED
)
print(hashlib.sha256(t.digest(t.take(dataset, 90))).hexdigest())
"""


def test_another_process_makes_the_same_bytes(make, prepared, pytestconfig):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(prepared)],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
    )

    here = hashlib.sha256(digest(take(make(), 90))).hexdigest()
    assert run.stdout.strip() == here


def test_pairs_and_masks_keep_their_shares(make, stored, toy_tokenizer):
    (batch,) = take(make(batch_size=6000), 1)

    paired = batch["weight/sentence_order"] > 0
    swapped = batch["sentence_order"][paired]
    np.testing.assert_allclose(
        swapped.mean(), 0.5, atol=4 * (0.25 / swapped.size) ** 0.5
    )
    # Without a pair are only the chunks of a single word.
    single = [
        len(chunk["lengths"]) == 1 and not any(chunk["starts"][1:])
        for shard in stored
        for chunk in shard
    ]
    np.testing.assert_allclose(1 - paired.mean(), np.mean(single), atol=0.01)
    real = batch["weight/masked_lm"] > 0
    shown = np.take_along_axis(
        batch["token_ids"], batch["mask_positions"], axis=1
    )[real]
    hidden = (shown == toy_tokenizer.mask_token_id).mean()
    kept = (shown == batch["masked_lm"][real]).mean()
    np.testing.assert_allclose([hidden, kept], [0.8, 0.1], atol=0.015)
    share = real.sum() / batch["padding_mask"].sum()
    np.testing.assert_allclose(share, 0.15, atol=0.01)


def test_the_dataset_can_be_read_twice(make):
    dataset = make()

    assert digest(take(dataset, 5)) == digest(take(dataset, 5))


def test_shapes_are_known_before_reading(make):
    spec = make(num_predictions=5).element_spec

    assert spec[0]["token_ids"] == tf.TensorSpec((8, LENGTH), tf.int32)
    assert spec[0]["mask_positions"] == tf.TensorSpec((8, 5), tf.int32)
    assert spec == make(evaluation_dataset, num_predictions=5).element_spec
    assert make().cardinality() == tf.data.INFINITE_CARDINALITY


def test_the_last_evaluation_batch_is_filled_with_nothing(make, stored):
    for objective in ("sop", "nsp", "none"):
        last = take(
            make(evaluation_dataset, batch_size=50, objective=objective), -1
        )[-1]

        filled = sum(map(len, stored)) % 50
        assert 0 < filled < 50
        assert last["weight/masked_lm"][filled:].sum() == 0
        assert last["weight/sentence_order"][filled:].sum() == 0
        assert (last["padding_mask"][filled:].sum(axis=1) == 2).all()


def test_a_shard_with_fewer_records_than_promised_stops_the_reading(
    make, prepared, tmp_path
):
    folder = shutil.copytree(prepared, tmp_path / "copy")
    path = folder / read_manifest(folder).shards[1].name
    path.write_bytes(b"")

    dataset = make(source=folder, verify=False)

    with pytest.raises(tf.errors.InvalidArgumentError, match="manifest says"):
        take(dataset, 1)


@pytest.mark.every_backend
def test_keras_trains_and_evaluates_on_the_batches(make):
    import keras

    inputs = {
        name: keras.Input((size,), dtype="int32", name=name)
        for name, size in [
            ("token_ids", LENGTH),
            ("segment_ids", LENGTH),
            ("padding_mask", LENGTH),
            ("mask_positions", 6),
        ]
    }
    hidden = keras.layers.Embedding(101, 4)(inputs["token_ids"])
    positions = keras.ops.expand_dims(inputs["mask_positions"], -1)
    masked = keras.ops.take_along_axis(hidden, positions, axis=1)
    outputs = {
        "masked_lm": keras.layers.Dense(101)(masked),
        "sentence_order": keras.layers.Dense(2)(hidden[:, 0]),
    }
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss={"masked_lm": loss, "sentence_order": loss})

    history = model.fit(make(), steps_per_epoch=3, epochs=2, verbose=0)

    evaluated = model.evaluate(
        make(evaluation_dataset), return_dict=True, verbose=0
    )
    assert np.isfinite([*history.history["loss"], evaluated["loss"]]).all()
