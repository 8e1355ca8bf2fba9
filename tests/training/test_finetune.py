import json
import sys

import keras
import numpy as np
import pytest

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.loading import load_model
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.training.finetune import confusion_counts
from keras_albert.training.finetune import finetune

every_backend = pytest.mark.every_backend

# The package has a function of the same name.
module = sys.modules["keras_albert.training.finetune"]

# The first letter decides; the rest is the same for both.
TEXTS = [f"{first} {rest}" for first in "ab" for rest in "cdefgh"] * 20
LABELS = ["good" if text[0] == "a" else "bad" for text in TEXTS]


@pytest.fixture
def backbone(tokenizer):
    keras.utils.set_random_seed(0)
    return AlbertBackbone(
        tokenizer.vocabulary_size(), 1, 2, 8, 16, 24, max_sequence_length=16
    )


@pytest.fixture
def run(backbone, tokenizer):
    def call(**changes):
        arguments = {
            "model": backbone,
            "tokenizer": tokenizer,
            "train": (TEXTS, LABELS),
            "epochs": 2,
            "batch_size": 8,
            "sequence_length": 8,
            "learning_rate": 0.02,
            "jit_compile": keras.backend.backend() == "jax",
            "seed": 1,
        }
        return finetune(**{**arguments, **changes})

    return call


@every_backend
def test_it_learns_saves_and_answers_from_the_preset(run, tmp_path):
    result = run(output=tmp_path / "out", epochs=4)

    assert result.validation_accuracy == 1.0 > result.majority_accuracy
    assert result.labels == ["bad", "good"]
    assert result.num_train + result.num_validation == len(TEXTS)
    assert result.confusion.trace() == result.num_validation
    assert sum(result.predicted_counts.values()) == result.num_validation
    assert not result.collapsed
    assert result.notes == []
    model = load_model(result.preset)
    logits = model.predict(["a h", "b h"], verbose=0)
    assert [model.labels[i] for i in logits.argmax(-1)] == ["good", "bad"]
    summary = json.loads((tmp_path / "out" / "finetune.json").read_text())
    assert summary["history"] == result.history


def fixed_validation(accuracies):
    """Logits that give these accuracies on four examples, epoch by epoch."""
    for accuracy in accuracies:
        right = int(4 * accuracy)
        hits = np.arange(4) < right
        ids = np.where(hits, [0, 1, 0, 1], [1, 0, 1, 0])
        yield np.eye(2)[ids] * 4.0


@pytest.fixture
def scripted(monkeypatch):
    """Replaces predictions, and notes the weights of every epoch."""

    def script(accuracies):
        logits, weights = fixed_validation(accuracies), []

        def predict(classifier, inputs, batch_size):
            weights.append(classifier.get_weights())
            return next(logits)

        monkeypatch.setattr(module, "predict_logits", predict)
        return weights

    return script


FOUR = (["a c", "b c", "a d", "b d"], ["bad", "good", "bad", "good"])


def test_the_best_epoch_is_restored(run, scripted):
    weights = scripted([0.5, 1.0, 0.75])

    result = run(epochs=3, validation=FOUR)

    assert result.best_epoch == 2
    assert result.validation_accuracy == 1.0
    assert [r["val_accuracy"] for r in result.history] == [0.5, 1.0, 0.75]
    for ours, expected in zip(
        result.model.get_weights(), weights[1], strict=True
    ):
        np.testing.assert_array_equal(ours, expected)


def constant_logits(classifier, inputs, batch_size):
    return np.eye(2)[np.zeros(len(inputs["token_ids"]), int)]


def test_a_constant_answer_is_tried_again_at_a_lower_rate(run, monkeypatch):
    monkeypatch.setattr(module, "predict_logits", constant_logits)
    starts = []
    fit = AlbertTextClassifier.fit

    def watched_fit(model, *args, **kwargs):
        rate = model.optimizer._learning_rate.peak_rate
        starts.append((rate, model.get_weights()[0]))
        return fit(model, *args, **kwargs)

    monkeypatch.setattr(AlbertTextClassifier, "fit", watched_fit)

    result = run(epochs=4, validation=FOUR)

    # Half of four epochs at each rate, from the same weights.
    assert [rate for rate, _ in starts] == [0.02, 0.02, 0.005, 0.005]
    np.testing.assert_array_equal(starts[0][1], starts[2][1])
    assert result.collapsed
    assert result.learning_rate == 0.005
    assert result.predicted_counts == {"bad": 4, "good": 0}
    assert "again at 0.005" in result.notes[0]
    assert "still predicts one class" in result.notes[1]


def test_a_lost_epoch_is_never_the_best(run, monkeypatch):
    # Taken for numbers, the lost epoch's answers would all be right.
    three = ([*FOUR[0][::2], "a e"], ["bad"] * 3)
    logits = iter([np.eye(2)[[1, 1, 0]]] + [np.full((3, 2), np.nan)])
    later = np.eye(2)[[0, 0, 1]]
    monkeypatch.setattr(
        module, "predict_logits", lambda *_: next(logits, later)
    )

    result = run(epochs=2, validation=three)

    assert result.validation_accuracy == pytest.approx(2 / 3)
    assert result.learning_rate == 0.005
    assert "overflowed" in result.notes[0]
    assert "again at 0.005" in result.notes[0]
    assert not result.collapsed
    assert np.isfinite([r["val_loss"] for r in result.history]).all()


def test_weights_lost_at_both_rates_are_refused(run, backbone, tmp_path):
    start = backbone.get_weights()

    with pytest.raises(FloatingPointError, match="lower `learning_rate`"):
        run(learning_rate=1e30, output=tmp_path / "out")

    assert not (tmp_path / "out").exists()
    for ours, expected in zip(backbone.get_weights(), start, strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_only_example_of_a_class_is_trained_on(run, seed):
    texts, labels = TEXTS[:12], LABELS[:12]
    rare = ([*texts, "a b", "b b"], [*labels, "rare", "rarer"])

    result = run(train=rare, validation_share=0.6, epochs=1, seed=seed)

    assert result.labels == ["bad", "good", "rare", "rarer"]
    assert result.num_train + result.num_validation == 14
    assert result.confusion[2:].sum() == 0


def test_the_loss_of_a_classifier_with_softmax(run, backbone, tokenizer):
    losses = []
    start = backbone.get_weights()
    for activation in (None, "softmax"):
        keras.utils.set_random_seed(0)
        backbone.set_weights(start)
        model = AlbertTextClassifier(
            backbone, labels=["bad", "good"], activation=activation
        )
        result = run(model=model, epochs=1, learning_rate=1e-9)
        losses.append(result.history[0]["val_loss"])

    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


@every_backend
def test_a_pair_uses_both_texts(run):
    pairs = [(text[0], text[2:]) for text in TEXTS]

    result = run(train=(pairs, LABELS), epochs=4)

    assert result.validation_accuracy == 1.0


def test_the_same_seed_gives_the_same_result(run, backbone):
    start = backbone.get_weights()
    few = (TEXTS[:16], LABELS[:16])
    losses = []
    for seed in (1, 1, 2):
        backbone.set_weights(start)
        result = run(seed=seed, epochs=1, train=few, validation=FOUR)
        losses.append(result.history[0]["val_loss"])

    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert losses[0] != pytest.approx(losses[2], abs=1e-6)


def test_files_are_read(run, tmp_path):
    path = tmp_path / "train.tsv"
    rows = zip(LABELS[:16], TEXTS[:16], strict=True)
    path.write_text("label\ttext\n" + "\n".join("\t".join(r) for r in rows))

    assert run(train=path, epochs=1).labels == ["bad", "good"]


def test_confusion_by_hand():
    counts = confusion_counts([0, 0, 2, 2, 2], [0, 1, 2, 2, 0], 3)

    assert counts.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"epochs": 0}, "epochs=0"),
        ({"validation_share": 1.5}, "between 0 and 1"),
        ({"warmup_share": 1.0}, "warmup_share=1.0"),
        ({"sequence_length": 17}, "only 16 positions"),
        ({"train": (["a", "b"], ["x", "x"])}, "two different labels"),
        ({"labels": ["good", "fine"]}, r"not among .*\['bad'\]"),
        (
            {"validation": (["a"], ["odd"])},
            r"validation .*\['odd'\]. Correct .*, or give training examples",
        ),
        ({"validation": ([("a", "b")], ["bad"])}, "one of each"),
        ({"train": (["a"], ["x"])}, "at least two examples"),
        ({"train": (["a", "b"], ["x", "y"])}, "two examples of one class"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"tokenizer": None}, "brings no tokenizer"),
    ],
)
def test_what_does_not_fit_is_said_before_any_work(run, changes, message):
    with pytest.raises(ValueError, match=message):
        run(**changes)


def test_a_tokenizer_of_another_size_is_refused(run):
    other = AlbertBackbone(99, 1, 2, 8, 16, 24, max_sequence_length=16)

    with pytest.raises(ValueError, match="has 13 ids, the model 99"):
        run(model=other)


def test_weights_of_16_bits_are_refused(run, tokenizer, tmp_path):
    model = AlbertBackbone(
        *(tokenizer.vocabulary_size(), 1, 2, 8, 16, 24),
        max_sequence_length=16,
        dtype="bfloat16",
    )

    with pytest.raises(ValueError, match="Pass 'mixed_bfloat16'"):
        run(model=model, output=tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_files_is_refused(run, tmp_path):
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(FileExistsError, match="holds other files"):
        run(output=tmp_path)
