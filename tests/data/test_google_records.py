import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data.google_records import google_records
from tests.data.conftest import take

LENGTH, NUM_PREDICTIONS, NUM_EXAMPLES = 16, 3, 10


def example(number):
    """The features of one example, as Google's script lays them out."""
    num_tokens = 8 + number % 5
    num_targets = 1 + number % NUM_PREDICTIONS
    random = np.random.default_rng(number)
    real = np.arange(LENGTH) < num_tokens
    predicted = np.arange(NUM_PREDICTIONS) < num_targets
    positions = np.sort(random.permutation(num_tokens)[:NUM_PREDICTIONS])
    return {
        "input_ids": random.integers(5, 99, LENGTH) * real,
        "input_mask": real.astype(int),
        "segment_ids": (np.arange(LENGTH) >= 5).astype(int) * real,
        "masked_lm_positions": positions * predicted,
        "masked_lm_ids": random.integers(5, 99, NUM_PREDICTIONS) * predicted,
        "masked_lm_weights": predicted.astype(float),
        "next_sentence_labels": np.array([number % 2]),
        "token_boundary": np.ones(LENGTH, int),  # ALBERT's script adds it
    }


def write(path, examples):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for features in examples:
            feature = {}
            for name, values in features.items():
                if name == "masked_lm_weights":
                    kind = {"float_list": tf.train.FloatList(value=values)}
                else:
                    kind = {"int64_list": tf.train.Int64List(value=values)}
                feature[name] = tf.train.Feature(**kind)
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(feature=feature)
                ).SerializeToString()
            )
    return path


@pytest.fixture
def files(tmp_path):
    examples = [example(number) for number in range(NUM_EXAMPLES)]
    write(tmp_path / "data.tfrecord-0", examples[:4])
    write(tmp_path / "data.tfrecord-1", examples[4:])
    return tmp_path / "data.tfrecord-*"


NAMES = {
    "token_ids": "input_ids",
    "segment_ids": "segment_ids",
    "padding_mask": "input_mask",
    "mask_positions": "masked_lm_positions",
    "masked_lm": "masked_lm_ids",
    "weight/masked_lm": "masked_lm_weights",
}


def test_one_pass_gives_what_was_written_in_order(files):
    batches = take(google_records(files, batch_size=4), -1)

    assert len(batches) == 3
    together = {
        name: np.concatenate([batch[name] for batch in batches])
        for name in batches[0]
    }
    for name, stored in NAMES.items():
        expected = np.stack([example(n)[stored] for n in range(NUM_EXAMPLES)])
        assert (together[name][:NUM_EXAMPLES] == expected).all(), name
    labels = together["sentence_order"][:NUM_EXAMPLES]
    assert labels.tolist() == [0, 1] * 5  # as stored: 1 = swapped
    weights = together["weight/sentence_order"]
    assert weights.tolist() == [1.0] * NUM_EXAMPLES + [0.0, 0.0]
    assert together["weight/masked_lm"][NUM_EXAMPLES:].sum() == 0


def test_elements_are_those_of_the_pretraining_dataset(files):
    wide = tf.TensorSpec((5, LENGTH), tf.int32)
    narrow = tf.TensorSpec((5, NUM_PREDICTIONS), tf.int32)
    for seed in (None, 1):
        assert google_records(files, batch_size=5, seed=seed).element_spec == (
            {
                "token_ids": wide,
                "segment_ids": wide,
                "padding_mask": wide,
                "mask_positions": narrow,
            },
            {
                "masked_lm": narrow,
                "sentence_order": tf.TensorSpec((5,), "int32"),
            },
            {
                "masked_lm": tf.TensorSpec((5, NUM_PREDICTIONS), tf.float32),
                "sentence_order": tf.TensorSpec((5,), tf.float32),
            },
        )


def test_training_goes_on_shuffled_anew_and_repeatable(files):
    def order(**arguments):
        batches = take(google_records(files, batch_size=5, **arguments), 6)
        return [row.tobytes() for b in batches for row in b["token_ids"]]

    rows = order(seed=1)

    stored = {
        example(n)["input_ids"].astype("int32").tobytes()
        for n in range(NUM_EXAMPLES)
    }
    epochs = [rows[:10], rows[10:20], rows[20:]]
    assert all(set(epoch) == stored for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert order(seed=1) == rows
    assert order(seed=2) != rows
    assert order(seed=1, start_step=2)[:20] == rows[10:]


def test_lengths_may_be_given(files):
    google_records(
        files,
        batch_size=2,
        sequence_length=LENGTH,
        num_predictions=NUM_PREDICTIONS,
    )

    with pytest.raises(ValueError, match="`input_ids` of .* has 16 .* 128"):
        google_records(files, batch_size=2, sequence_length=128)
    with pytest.raises(
        ValueError, match="positions` of .* has 3 .*Expected 20"
    ):
        google_records(files, batch_size=2, num_predictions=20)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"segment_ids": np.zeros(7, int)}, "`segment_ids` of .* has 7 values"),
        ({"masked_lm_ids": np.zeros(2, int)}, "`masked_lm_ids` .* has 2"),
        ({"next_sentence_labels": np.zeros(2, int)}, "labels` .* has 2.*one"),
    ],
)
def test_lists_of_other_lengths_are_named(tmp_path, change, message):
    path = write(tmp_path / "odd", [{**example(0), **change}])

    with pytest.raises(ValueError, match=message):
        google_records(path, batch_size=1)


def test_files_must_agree(files, tmp_path):
    short = {**example(0), "input_ids": np.ones(4, int)}
    odd = write(tmp_path / "data.tfrecord-2", [short])

    with pytest.raises(ValueError, match=f"{odd.name} has 4 values.*16"):
        google_records(files, batch_size=1)


def test_other_records_are_refused(tmp_path):
    path = write(tmp_path / "other", [{"input_ids": np.ones(4, int)}])
    with pytest.raises(ValueError, match="lack.*masked_lm_ids"):
        google_records(path, batch_size=1)


@pytest.mark.parametrize("content", [b"", b"no record", b"\x00" * 64])
def test_what_is_no_record_is_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(ValueError, match="is no TFRecord of examples"):
        google_records(path, batch_size=1)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        google_records(tmp_path / "nothing", batch_size=1)
