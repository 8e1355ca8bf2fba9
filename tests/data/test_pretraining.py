import hashlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import corpus_batches
from keras_albert.data.masking import MaskingRates
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset
from keras_albert.data.segment_pairs import count_examples
from keras_albert.data.segment_pairs import plan_segment_pairs
from keras_albert.data.tokenized_corpus import TokenizedCorpus
from keras_albert.data.tokenized_corpus import tokenize_corpus
from tests.data.conftest import ToyTokenizer
from tests.data.conftest import digest
from tests.data.conftest import rows_of
from tests.data.conftest import take
from tests.data.conftest import toy_documents

LENGTH = 40
NO_MASKS = MaskingRates(mask_token_rate=0.0, random_token_rate=0.0)


@pytest.fixture
def make(toy_corpus, toy_tokenizer):
    def make(function=pretraining_dataset, **arguments):
        settings = {
            "source": toy_corpus,
            "tokenizer": toy_tokenizer,
            "batch_size": 7,
            "sequence_length": LENGTH,
            "seed": 1,
        }
        return function(**{**settings, **arguments})

    return make


def num_examples(corpus, epoch=0):
    return count_examples(corpus, sequence_length=LENGTH, seed=1, epoch=epoch)


@pytest.mark.parametrize("function", [pretraining_dataset, evaluation_dataset])
def test_shapes_and_types_are_static(make, function):
    dataset = make(function, num_predictions=5)

    int32, float32 = tf.int32, tf.float32
    wide = tf.TensorSpec((7, LENGTH), int32)
    narrow = tf.TensorSpec((7, 5), int32)
    assert dataset.element_spec == (
        {
            "token_ids": wide,
            "segment_ids": wide,
            "padding_mask": wide,
            "mask_positions": narrow,
        },
        {"masked_lm": narrow, "sentence_order": tf.TensorSpec((7,), int32)},
        {
            "masked_lm": tf.TensorSpec((7, 5), float32),
            "sentence_order": tf.TensorSpec((7,), float32),
        },
    )


@pytest.mark.parametrize("objective", ["sop", "nsp", "none"])
def test_examples_are_packed_as_planned(
    make, toy_corpus, toy_tokenizer, objective
):
    dataset = make(evaluation_dataset, objective=objective, rates=NO_MASKS)

    batches = take(dataset, 3)

    plan = plan_segment_pairs(
        toy_corpus, sequence_length=LENGTH, seed=1, objective=objective
    )
    cls, sep = toy_tokenizer.cls_token_id, toy_tokenizer.sep_token_id
    for index, batch in enumerate(batches):
        for row in range(7):
            example = index * 7 + row
            first, second = (
                toy_corpus.token_ids[start : start + length].tolist()
                for start, length in (
                    (plan.first_start[example], plan.first_length[example]),
                    (plan.second_start[example], plan.second_length[example]),
                )
            )
            second = [*second, sep] if second else []
            ids = [cls, *first, sep, *second]
            segments = [0] * (len(first) + 2) + [1] * len(second)
            rest = LENGTH - len(ids)
            pad = [toy_tokenizer.pad_token_id] * rest
            assert batch["token_ids"][row].tolist() == ids + pad
            assert batch["segment_ids"][row].tolist() == segments + [0] * rest
            mask = [1] * len(ids) + [0] * rest
            assert batch["padding_mask"][row].tolist() == mask
            order = plan.sentence_order[example]
            assert batch["sentence_order"][row] == order


def test_special_and_unknown_tokens_are_never_targets(make, toy_tokenizer):
    documents = [["ab @ cd", "ef @ @ gh", "@ @ ij"]] * 30
    corpus = tokenize_corpus(documents, toy_tokenizer)
    rates = MaskingRates(masking_rate=0.9)

    batches = take(make(source=corpus, rates=rates), 5)

    targets = np.concatenate([b["masked_lm"] for b in batches])
    real = np.concatenate([b["weight/masked_lm"] for b in batches]) > 0
    assert real.sum() > 100
    assert not np.isin(targets[real], toy_tokenizer.special_token_ids).any()


def test_special_tokens_stay_in_their_places(make, toy_tokenizer):
    shown = take(make(), 8)
    special = [
        toy_tokenizer.cls_token_id,
        toy_tokenizer.sep_token_id,
        toy_tokenizer.pad_token_id,
    ]

    plain = take(make(rates=NO_MASKS), 8)

    for one, two in zip(shown, plain, strict=True):
        for token_id in special:
            there = one["token_ids"] == token_id
            assert (there == (two["token_ids"] == token_id)).all()


def test_nothing_is_masked_on_padding(make):
    batches = take(make(rates=MaskingRates(masking_rate=1.0)), 8)

    for batch in batches:
        at_targets = np.take_along_axis(
            batch["padding_mask"], batch["mask_positions"], axis=1
        )
        assert at_targets[batch["weight/masked_lm"] > 0].all()


def test_an_epoch_holds_every_pair_once(make, toy_corpus):
    number = num_examples(toy_corpus)

    trained = rows_of(take(make(batch_size=1), number))

    evaluated = rows_of(take(make(evaluation_dataset, batch_size=1), -1))
    assert len(evaluated) == number
    assert sorted(trained) == sorted(evaluated)
    assert trained != evaluated


def test_batches_run_across_the_border_of_epochs(make, toy_corpus):
    first, second = (num_examples(toy_corpus, epoch) for epoch in (0, 1))
    assert first % 7  # a batch must lie across the border

    wide = rows_of(take(make(), (first + second) // 7))

    narrow = rows_of(take(make(batch_size=1), len(wide)))
    assert wide == narrow


def test_a_batch_may_be_larger_than_the_corpus(make, toy_corpus):
    size = 3 * num_examples(toy_corpus)

    (batch,) = take(make(batch_size=size), 1)

    assert batch["token_ids"].shape == (size, LENGTH)


def test_epochs_differ_in_order_and_masks(make, toy_corpus):
    first, second = (num_examples(toy_corpus, epoch) for epoch in (0, 1))

    rows = rows_of(take(make(batch_size=1), first + second))

    assert len(set(rows[:first]) & set(rows[first:])) < 0.1 * first


def test_the_same_text_gets_other_masks_in_another_epoch(make):
    sentences = [
        " ".join(f"{letter}{number % 10}" for number in range(30))
        for letter in "abcdefg"
    ]

    first, second = take(
        make(
            source=[[sentence] for sentence in sentences],
            objective="none",
            short_sequence_probability=0.0,
            rates=NO_MASKS,
        ),
        2,
    )

    positions = [
        {
            ids.tobytes(): places.tolist()
            for ids, places in zip(
                batch["token_ids"], batch["mask_positions"], strict=True
            )
        }
        for batch in (first, second)
    ]
    assert positions[0].keys() == positions[1].keys()
    assert all(positions[1][ids] != p for ids, p in positions[0].items())


def test_another_seed_gives_other_batches(make):
    assert not set(rows_of(take(make(), 9))) & set(
        rows_of(take(make(seed=2), 9))
    )


@pytest.mark.parametrize("start_step", [1, 5, 1000])
def test_starting_late_equals_leaving_batches_out(make, start_step):
    late = take(make(start_step=start_step), 40)

    early = make().skip(start_step)

    assert digest(late) == digest(take(early, 40))


def test_starting_late_needs_no_tokens(make, monkeypatch):
    calls = []
    plan = corpus_batches.plan_segment_pairs
    monkeypatch.setattr(
        corpus_batches,
        "plan_segment_pairs",
        lambda *a, **k: calls.append(k["epoch"]) or plan(*a, **k),
    )

    take(make(start_step=2000), 1)

    # Epoch 0 to check the arguments; then only the epoch of the step.
    assert calls[0] == 0
    assert min(calls[1:]) > 10


@pytest.mark.parametrize("parallel", [1, 4])
def test_parallel_work_changes_nothing(make, monkeypatch, parallel):
    usual = digest(take(make(), 60))

    monkeypatch.setattr(tf.data, "AUTOTUNE", parallel)

    assert digest(take(make(), 60)) == usual


SCRIPT = """
import hashlib
from tests.data import test_pretraining as t
corpus = t.tokenize_corpus(t.toy_documents(), t.ToyTokenizer())
dataset = t.pretraining_dataset(
    corpus, t.ToyTokenizer(), batch_size=7, sequence_length=t.LENGTH, seed=1
)
print(hashlib.sha256(t.digest(t.take(dataset, 30))).hexdigest())
"""


def test_another_process_makes_the_same_bytes(make, pytestconfig):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
    )

    here = hashlib.sha256(digest(take(make(), 30))).hexdigest()
    assert run.stdout.strip() == here


def test_the_dataset_can_be_read_twice(make):
    dataset = make()

    assert digest(take(dataset, 5)) == digest(take(dataset, 5))


def test_training_is_endless_and_evaluation_is_not(make, toy_corpus):
    evaluation = make(evaluation_dataset)

    batches = -(-num_examples(toy_corpus) // 7)
    assert make().cardinality() == tf.data.INFINITE_CARDINALITY
    assert len(evaluation) == batches
    assert len(take(evaluation, -1)) == batches


def test_the_last_evaluation_batch_is_filled_with_nothing(make, toy_corpus):
    last = take(make(evaluation_dataset), -1)[-1]

    filled = num_examples(toy_corpus) % 7
    assert 0 < filled < 7
    assert last["weight/masked_lm"][filled:].sum() == 0
    assert last["weight/sentence_order"][filled:].sum() == 0
    assert last["weight/masked_lm"][:filled].sum(axis=1).min() >= 1
    # Two tokens remain, so that no row is all padding.
    assert last["padding_mask"][filled:].sum(axis=1).tolist() == [2] * (
        7 - filled
    )


def test_evaluation_is_the_same_each_time(make):
    one, two = (take(make(evaluation_dataset), -1) for _ in range(2))

    assert digest(one) == digest(two)


@pytest.mark.parametrize("function", [pretraining_dataset, evaluation_dataset])
def test_files_and_documents_serve_as_a_corpus(make, function, tmp_path):
    documents = toy_documents()
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join("\n".join(d) for d in documents))
    expected = digest(take(make(function), 3))

    from_file = take(make(function, source=path), 3)
    from_files = take(make(function, source=[str(path)]), 3)
    from_memory = take(make(function, source=documents), 3)

    assert digest(from_file) == expected
    assert digest(from_files) == expected
    assert digest(from_memory) == expected


def test_a_corpus_of_another_tokenizer_is_refused(make, toy_tokenizer):
    class Other(ToyTokenizer):
        def fingerprint(self):
            return "other"

    with pytest.raises(ValueError, match="another tokenizer.*toy.*other"):
        make(tokenizer=Other())


def test_ids_beyond_the_vocabulary_are_refused(make):
    corpus = TokenizedCorpus(
        token_ids=np.array([20, 101, 20], "int32"),
        word_starts=np.ones(3, "bool"),
        sentence_offsets=np.array([0, 1, 3]),
        document_offsets=np.array([0, 2]),
    )

    with pytest.raises(ValueError, match="token id 101.*only 101 ids"):
        make(source=corpus)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"start_step": -1}, "start_step=-1"),
        ({"num_predictions": 0}, "num_predictions=0"),
        ({"sequence_length": 5}, "sequence_length=5"),
        ({"objective": "mlm"}, "objective='mlm'"),
        ({"source": [["ab cd"], ["ef"]]}, "is a single"),
        ({"source": [[" "]]}, "no documents with text"),
    ],
)
def test_bad_arguments_are_found_before_any_batch(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_a_missing_file_is_found_before_any_batch(make):
    with pytest.raises(FileNotFoundError, match="none.txt does not exist"):
        make(source="none.txt")


@pytest.mark.parametrize("missing", ["tokenizer", "sequence_length"])
def test_text_needs_a_tokenizer_and_a_length(make, missing):
    with pytest.raises(TypeError, match=f"`{missing}` is missing"):
        make(**{missing: None})


@pytest.mark.parametrize(
    "arguments", [{"window_shards": 2}, {"data_service": "grpc://a:1"}]
)
def test_what_is_for_prepared_data_is_refused_with_text(make, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"`{name}` is for prepared data"):
        make(**arguments)


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
