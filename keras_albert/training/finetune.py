"""Fine-tuning a classifier, with the care that small data and ALBERT need.

One layer receives every layer's gradient, so that a rate which suits BERT
makes ALBERT answer one class for everything. Hence the defaults: a rate by
width, warm-up, clipping, and a second try at a lower rate if it happens.
"""

import collections
import dataclasses
import json
import math
import time
from pathlib import Path

import keras
import numpy as np

from keras_albert.data.whole_files import replace_atomically
from keras_albert.data.whole_files import write_atomically
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.loading import load_model
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.models.text_classifier import default_learning_rate
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.training.callbacks import ProgressBar
from keras_albert.training.floors import majority_accuracy
from keras_albert.training.labelled_text import as_labelled_text
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights
from keras_albert.training.weight_dtype import check_weight_dtype

RESTART_FACTOR = 0.25
_HEAD_STREAM = 0x48454144
_MARK = "finetune.json"


@dataclasses.dataclass(frozen=True)
class FinetuneResult:
    """What a fine-tuning run came to.

    Attributes:
        model: `AlbertTextClassifier` with the weights of the best epoch.
        labels: list of strings, in id order.
        history: list of records, one per epoch of the attempt that counts:
            `epoch`, `loss`, `accuracy`, `val_loss`, `val_accuracy`, `seconds`.
        best_epoch: int, from 1.
        validation_accuracy: float, of the best epoch.
        majority_accuracy: float. The floor of that accuracy.
        confusion: int array `(num_classes, num_classes)`; rows are the true
            classes, columns the predicted ones, in the best epoch.
        predicted_counts: dict from label to the number of predictions.
        collapsed: bool. Whether one class was predicted for everything.
        notes: list of sentences for the user: a restart, a collapse.
        learning_rate: float. The peak rate of the attempt that counts.
        num_train, num_validation: ints. Examples.
        seconds: float.
        preset: path of the saved model, or None.
    """

    model: AlbertTextClassifier
    labels: list
    history: list
    best_epoch: int
    validation_accuracy: float
    majority_accuracy: float
    confusion: np.ndarray
    predicted_counts: dict
    collapsed: bool
    notes: list
    learning_rate: float
    num_train: int
    num_validation: int
    seconds: float
    preset: Path | None


@dataclasses.dataclass(frozen=True)
class _Attempt:
    """One training at one rate; `best_epoch` is 0 where none is usable."""

    history: list
    best_epoch: int
    weights: list
    predictions: np.ndarray
    collapsed: bool
    overflowed: bool

    @property
    def failure(self):
        """What went wrong, as the end of a sentence, or an empty string."""
        if self.overflowed:
            return "'s weights overflowed"
        return " predicted one class for everything" if self.collapsed else ""


def finetune(
    *,
    model,
    train,
    validation=None,
    labels=None,
    tokenizer=None,
    validation_share=0.1,
    epochs=3,
    batch_size=32,
    sequence_length=128,
    learning_rate=None,
    warmup_share=0.1,
    weight_decay=0.01,
    jit_compile="auto",
    seed=0,
    output=None,
    progress=None,
):
    """Fine-tunes an ALBERT to classify texts or pairs of texts.

    The weights of the epoch with the best validation accuracy are kept. If
    one class is predicted for all of the validation examples through the first
    half of the epochs, or at the end, or the weights overflow, training starts
    again from the same weights at a quarter of the rate, once, and `notes`
    says so.

    Args:
        model: path of a preset, `AlbertBackbone`, `AlbertPretrainer` or
            `AlbertTextClassifier`. A classifier of the same labels keeps its
            head. Its weights are trained in place.
        train: `(texts, labels)`, `LabelledText`, or the path of a file for
            `read_labelled_text`.
        validation: the same, optional. Without it a share of `train` is held
            out; the only example of a class never is.
        labels: list of strings, optional. The classes in id order; defaults to
            those in `train`, sorted.
        tokenizer: a tokenizer, for a model that brings none.
        validation_share: float. Defaults to `0.1`.
        epochs: int. Defaults to `3`; take more for a few hundred examples.
        batch_size: int. Defaults to `32`.
        sequence_length: int. Tokens of an example; longer ones are cut.
            Defaults to `128`.
        learning_rate: float, optional. The peak; defaults to
            `models.text_classifier.default_learning_rate` of the width.
        warmup_share: float. Share of the steps. Defaults to `0.1`.
        weight_decay: float. Not on biases and normalisation. Defaults to
            `0.01`.
        jit_compile: bool or `"auto"`, as in `keras.Model.compile`.
        seed: int. Decides the head's start, the dropout, the order and the
            held-out share. Defaults to `0`.
        output: path, optional. Folder that gets `preset/` and
            `finetune.json`, at the end.
        progress: `rich.progress.Progress`, optional.

    Returns:
        `FinetuneResult`.

    Raises:
        ValueError, TypeError, FileNotFoundError, FileExistsError: before any
            work, for what does not fit together.
        FloatingPointError: if the weights overflow in the first epoch at both
            rates. The model then has the weights it came with.
    """
    began = time.monotonic()
    _check_arguments(epochs, batch_size, validation_share, warmup_share)
    _check_learning_rate(learning_rate)
    train, validation = _data(train, validation, validation_share, seed)
    labels = _labels(labels, train, validation)
    output = _claim(output)
    classifier = _classifier(model, tokenizer, labels, sequence_length, seed)
    check_weight_dtype(classifier.backbone.dtype_policy)
    if learning_rate is None:
        learning_rate = default_learning_rate(classifier.backbone.hidden_dim)

    encode = _encoder(classifier.preprocessor, labels)
    train_x, train_y = encode(train)
    validation_x, validation_y = encode(validation)
    start = classifier.get_weights()
    total = epochs * max(1, len(train_y) // batch_size)

    def attempt(rate):
        classifier.set_weights(start)
        seed_dropout(classifier, seed)
        optimizer = make_optimizer(
            "adamw",
            rate,
            steps=total,
            warmup_steps=int(warmup_share * total),
            weight_decay=weight_decay,
        )
        classifier.compile(optimizer, jit_compile=jit_compile)
        bars = []
        if progress is not None:
            bars.append(ProgressBar(progress, total, "fine-tuning"))
        return _train(
            classifier,
            (train_x, train_y),
            (validation_x, validation_y),
            epochs,
            min(batch_size, len(train_y)),
            seed,
            bars,
        )

    preprocessor, classifier.preprocessor = classifier.preprocessor, None
    try:
        notes = []
        best = attempt(learning_rate)
        if best.failure:
            lower = learning_rate * RESTART_FACTOR
            notes.append(
                f"The model{best.failure} at a peak rate of "
                f"{learning_rate:g}; it was trained again at {lower:g}."
            )
            learning_rate = lower
            best = attempt(lower)
        if not best.best_epoch:
            classifier.set_weights(start)
            raise FloatingPointError(
                "The model's weights overflowed at a peak rate of "
                f"{learning_rate:g}, so that its answers are no numbers. Take "
                "a much lower `learning_rate`."
            )
        if best.overflowed:
            notes.append(
                f"The model's weights overflowed after epoch "
                f"{len(best.history)}; the epochs before it count."
            )
        if best.collapsed:
            notes.append(
                "The model still predicts one class for everything. Train it "
                "for more epochs, on more examples, or pretrain it longer."
            )
        classifier.set_weights(best.weights)
    finally:
        classifier.preprocessor = preprocessor

    record = best.history[best.best_epoch - 1]
    counts = np.bincount(best.predictions, minlength=len(labels))
    result = FinetuneResult(
        model=classifier,
        labels=labels,
        history=best.history,
        best_epoch=best.best_epoch,
        validation_accuracy=record["val_accuracy"],
        majority_accuracy=majority_accuracy(train.labels, validation.labels),
        confusion=confusion_counts(validation_y, best.predictions, len(labels)),
        predicted_counts=dict(zip(labels, counts.tolist(), strict=True)),
        collapsed=best.collapsed,
        notes=notes,
        learning_rate=learning_rate,
        num_train=len(train_y),
        num_validation=len(validation_y),
        seconds=time.monotonic() - began,
        preset=None if output is None else output / "preset",
    )
    if output is not None:
        _save(result, output)
    return result


def confusion_counts(true_ids, predicted_ids, num_classes):
    """Counts pairs of (true, predicted) class.

    Args:
        true_ids, predicted_ids: int arrays of equal shape.
        num_classes: int.

    Returns:
        Int array of shape `(num_classes, num_classes)`, true by predicted.

    Example:

    >>> confusion_counts([0, 1, 1], [0, 0, 1], 2).tolist()
    [[1, 0], [1, 1]]
    """
    pairs = np.asarray(true_ids) * num_classes + np.asarray(predicted_ids)
    counts = np.bincount(pairs, minlength=num_classes**2)
    return counts.reshape(num_classes, num_classes)


def _train(classifier, train, validation, epochs, batch_size, seed, callbacks):
    """Trains epoch by epoch and keeps the best epoch's weights."""
    history, best_epoch, best_weights, best_predictions = [], 0, None, None
    began = time.monotonic()
    constant, overflowed = [], False
    for epoch in range(1, epochs + 1):
        order = np.random.default_rng([seed, epoch]).permutation(len(train[1]))
        # Whole batches only, so that one shape is compiled; what is left out
        # is another part in every epoch.
        order = order[: len(order) - len(order) % batch_size]
        logs = classifier.fit(
            {name: column[order] for name, column in train[0].items()},
            train[1][order],
            batch_size=batch_size,
            shuffle=False,
            callbacks=callbacks,
            verbose=0,
        ).history
        logits = predict_logits(classifier, validation[0], batch_size)
        # The likeliest of no numbers is class 0, which may even seem good.
        overflowed = not np.isfinite(logits).all()
        if overflowed:
            break
        predictions = logits.argmax(-1)
        constant.append(len(set(predictions.tolist())) == 1)
        history.append(
            {
                "epoch": epoch,
                "loss": float(logs["loss"][-1]),
                "accuracy": float(logs["accuracy"][-1]),
                "val_loss": _cross_entropy(logits, validation[1]),
                "val_accuracy": float((predictions == validation[1]).mean()),
                "seconds": round(time.monotonic() - began, 1),
            }
        )
        if best_weights is None or _is_better(history, best_epoch):
            best_epoch = epoch
            best_weights = classifier.get_weights()
            best_predictions = predictions
        if 2 * epoch >= epochs and epoch > 1 and all(constant):
            break
    return _Attempt(
        history=history,
        best_epoch=best_epoch,
        weights=best_weights,
        predictions=best_predictions,
        collapsed=all(constant) and len(set(validation[1].tolist())) > 1,
        overflowed=overflowed,
    )


def predict_logits(classifier, inputs, batch_size):
    """Returns the logits of packed inputs, all batches of one shape.

    Args:
        classifier: `AlbertTextClassifier` without a preprocessor.
        inputs: dict of int arrays `(num_examples, sequence_length)`.
        batch_size: int.

    Returns:
        Float array of shape `(num_examples, num_classes)`.
    """
    count = len(inputs["token_ids"])
    padded = {
        name: np.pad(column, [(0, -count % batch_size), (0, 0)])
        for name, column in inputs.items()
    }
    logits = classifier.predict(padded, batch_size=batch_size, verbose=0)
    if classifier.activation is not keras.activations.linear:
        # Softmax takes these for what they were made from.
        logits = np.log(np.maximum(logits, np.finfo("float32").tiny))
    return logits[:count]


def _is_better(history, best_epoch):
    new, best = history[-1], history[best_epoch - 1]
    return (new["val_accuracy"], -new["val_loss"]) > (
        best["val_accuracy"],
        -best["val_loss"],
    )


def _cross_entropy(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(-1))
    chosen = shifted[np.arange(len(labels)), labels]
    return float((log_total - chosen).mean())


def _check_arguments(epochs, batch_size, validation_share, warmup_share):
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value < 1:
            raise ValueError(
                f"`{name}` must be at least 1. Received: {name}={value}."
            )
    if not 0 < validation_share < 1:
        raise ValueError(
            "`validation_share` must lie between 0 and 1. Received: "
            f"validation_share={validation_share}."
        )
    if not 0 <= warmup_share < 1:
        raise ValueError(
            "`warmup_share` must be at least 0 and below 1. Received: "
            f"warmup_share={warmup_share}."
        )


def _check_learning_rate(learning_rate):
    if learning_rate is not None and not 0 < learning_rate < math.inf:
        raise ValueError(
            "`learning_rate` must be a number above 0. Received: "
            f"learning_rate={learning_rate}."
        )


def _data(train, validation, validation_share, seed):
    train = as_labelled_text(train)
    if validation is not None:
        validation = as_labelled_text(validation)
        if train.is_pair != validation.is_pair:
            raise ValueError(
                "Training and validation must both be single texts or both "
                "pairs of texts. Received one of each."
            )
        return train, validation
    count = len(train.texts)
    if count < 2:
        raise ValueError(
            "Holding out a validation share needs at least two examples. "
            f"Received {count}. Pass `validation`."
        )
    held_out = min(max(1, round(validation_share * count)), count - 1)
    order = np.random.default_rng([seed, count]).permutation(count).tolist()
    # Each class must be trained on, so its last example is not held out.
    left = collections.Counter(train.labels)
    kept, rest = [], []
    for i in order:
        if len(kept) < held_out and left[train.labels[i]] > 1:
            kept.append(i)
            left[train.labels[i]] -= 1
        else:
            rest.append(i)
    if not kept:
        raise ValueError(
            "Holding out a validation share needs two examples of one class. "
            f"Received {count} examples of as many classes. Pass `validation`."
        )
    return train.select(rest), train.select(kept)


def _labels(labels, train, validation):
    labels = train.label_names if labels is None else [str(n) for n in labels]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(
            "Classification needs at least two different labels. Received: "
            f"{labels}."
        )
    for part, name in ((train, "training"), (validation, "validation")):
        unknown = sorted(set(part.labels) - set(labels))
        if unknown:
            raise ValueError(
                f"The {name} examples have labels that are not among "
                f"{labels}: {unknown[:5]}. Correct or leave out these "
                "examples, or give training examples of these classes."
            )
    return labels


def _classifier(model, tokenizer, labels, sequence_length, seed):
    if isinstance(model, (str, Path)):
        model = load_model(model)
    preprocessor = getattr(model, "preprocessor", None)
    if tokenizer is None and preprocessor is not None:
        tokenizer = preprocessor.tokenizer
    if tokenizer is None:
        raise ValueError(
            f"The {type(model).__name__} brings no tokenizer. Pass the one it "
            "was pretrained with as `tokenizer`."
        )
    backbone = model if isinstance(model, AlbertBackbone) else model.backbone
    _check_lengths(backbone, tokenizer, sequence_length)
    preprocessor = AlbertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    if isinstance(model, AlbertTextClassifier) and model.labels == labels:
        model.preprocessor = preprocessor
        return model
    classifier = AlbertTextClassifier(
        backbone, labels=labels, preprocessor=preprocessor
    )
    seed_weights(
        classifier.logits.trainable_variables,
        seed + _HEAD_STREAM,
        backbone.initializer_range,
    )
    return classifier


def _check_lengths(backbone, tokenizer, sequence_length):
    if sequence_length > backbone.max_sequence_length:
        raise ValueError(
            f"`sequence_length` is {sequence_length}, but the model has only "
            f"{backbone.max_sequence_length} positions. Shorten it."
        )
    if tokenizer.vocabulary_size() != backbone.vocabulary_size:
        raise ValueError(
            f"The tokenizer has {tokenizer.vocabulary_size()} ids, the model "
            f"{backbone.vocabulary_size}. Use the tokenizer the model was "
            "pretrained with."
        )


def _encoder(preprocessor, labels):
    """Returns a function from examples to packed arrays and class ids."""
    index = {label: i for i, label in enumerate(labels)}

    def encode(examples):
        texts = list(examples.texts)
        if examples.is_pair:
            texts = tuple(map(list, zip(*texts, strict=True)))
        packed = preprocessor(texts)
        packed = {
            name: keras.ops.convert_to_numpy(column)
            for name, column in packed.items()
        }
        # Columns that are padding in every row cost time and nothing else.
        longest = int(packed["padding_mask"].sum(-1).max())
        width = min(-(-longest // 8) * 8, preprocessor.sequence_length)
        ids = np.array([index[label] for label in examples.labels], "int32")
        return {n: column[:, :width] for n, column in packed.items()}, ids

    return encode


def _claim(output):
    if output is None:
        return None
    output = Path(output).expanduser()
    if output.exists() and not output.is_dir():
        raise FileExistsError(
            f"The output {output} is a file. Name a new folder."
        )
    ours = (output / _MARK).is_file()
    if output.is_dir() and any(output.iterdir()) and not ours:
        raise FileExistsError(
            f"The output folder {output} holds other files. Name a new or an "
            "empty folder, so that nothing of yours is overwritten."
        )
    return output


def _save(result, output):
    summary = {
        "labels": result.labels,
        "validation_accuracy": result.validation_accuracy,
        "majority_accuracy": result.majority_accuracy,
        "best_epoch": result.best_epoch,
        "learning_rate": result.learning_rate,
        "predicted_counts": result.predicted_counts,
        "confusion": result.confusion.tolist(),
        "notes": result.notes,
        "history": result.history,
    }
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    write_atomically(output / _MARK, text + "\n")
    with replace_atomically(result.preset) as temporary:
        result.model.save_to_preset(str(temporary))
