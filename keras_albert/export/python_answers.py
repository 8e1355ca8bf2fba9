"""What the Python model answers: the judge of an export.

Keras makes the encoder's outputs and runs the heads; the rest, softmax, means
and the choice of the likeliest tokens, is NumPy.
"""

import dataclasses
import re

import keras
import numpy as np

from keras_albert.export.signature_shapes import MAX_MASKS
from keras_albert.export.signature_shapes import ORDER_LABELS
from keras_albert.export.signature_shapes import TOKEN_NAMES
from keras_albert.export.warm_up_records import text_example
from keras_albert.tokenizers.packing import pack_segments_python

BATCH_SIZE = 5
SHORT_LENGTH = 48
# Scores that lie closer than this may change places between two programs.
CLOSE = 1e-4


@dataclasses.dataclass
class Answers:
    """Rows of a signature's inputs and what is expected for each.

    Args:
        inputs: dict from name to an array; strings are bytes in arrays of the
            dtype `object`.
        outputs: dict from name to an array with as many rows.
        certain: dict from the name of an output of strings to a bool array of
            its shape: false where two candidates are so close that either may
            be given.
    """

    inputs: dict
    outputs: dict
    certain: dict = dataclasses.field(default_factory=dict)

    def __len__(self):
        return len(next(iter(self.inputs.values())))

    def rows(self, picked):
        """Returns `(inputs, outputs, certain)` of the rows `picked`."""
        return tuple(
            {name: values[picked] for name, values in part.items()}
            for part in (self.inputs, self.outputs, self.certain)
        )


class PythonAnswers:
    """Expected answers of all signatures.

    Args:
        task: `ServedTask`.
        model: the Keras model, on any backend.
        preprocessor: `AlbertTextClassifierPreprocessor`.
    """

    def __init__(self, task, model, preprocessor):
        self._task = task
        self._model = exact_model(model)
        self._backbone = getattr(self._model, "backbone", self._model)
        self._preprocessor = preprocessor
        self._tokenizer = preprocessor.tokenizer

    def answers(self, texts, pairs):
        """Computes the answers for texts and pairs of texts.

        Args:
            texts: list of `str` or `bytes`.
            pairs: list of two of these.

        Returns:
            Dict from the signature's name to `Answers`.
        """
        kind = self._task.kind
        inputs, encoded = self._encode(self._tokens(texts))
        vectors = _vectors(encoded, inputs["padding_mask"])
        strings = as_bytes(texts)
        found = {"embed": Answers({"text": strings}, vectors)}
        if kind == "backbone":
            found["serving_default"] = found["embed"]
        if kind in ("backbone", "pretrainer"):
            found["tokens"] = Answers(inputs, vectors)
        if kind == "pretrainer":
            found["fill_mask"] = self._filled(texts)
            found["serving_default"] = found["fill_mask"]
            found["sentence_order"] = self._pairs(pairs, self._order)
        if kind in ("classifier", "regressor"):
            outputs, certain = self._classified(vectors["pooled"])
            found["serving_default"] = Answers(
                {"text": strings}, outputs, certain
            )
            found["tokens"] = Answers(inputs, outputs, certain)
            found["pair"] = self._pairs(pairs, self._classified)
            examples = as_bytes([text_example(text) for text in strings])
        if kind == "classifier":
            found["classify"] = Answers(
                {"inputs": examples}, self._classes(outputs["probabilities"])
            )
        if kind == "regressor":
            found["regress"] = Answers(
                {"inputs": examples}, {"outputs": outputs["value"]}
            )
        return found

    def _tokens(self, *texts):
        return [
            self._tokenizer.encode_batch([decoded(t) for t in column])
            for column in texts
        ]

    def _encode(self, tokens):
        packed = pack_segments_python(
            tokens, **self._preprocessor.packing_options()
        )
        inputs = dict(zip(TOKEN_NAMES, packed, strict=True))
        num_rows, length = inputs["token_ids"].shape
        hidden_dim = self._task.hidden_dim
        hidden = np.zeros((num_rows, length, hidden_dim), "float32")
        pooled = np.zeros((num_rows, hidden_dim), "float32")
        # Most rows are short: padded to the longest they would take minutes.
        is_short = ~inputs["padding_mask"][:, SHORT_LENGTH:].any(1)
        for rows, width in ((is_short, SHORT_LENGTH), (~is_short, length)):
            if rows.any():
                part = {name: x[rows, :width] for name, x in inputs.items()}
                found = _outputs(self._backbone, part)
                hidden[rows, :width] = found["sequence_output"]
                pooled[rows] = found["pooled_output"]
        return inputs, {"sequence_output": hidden, "pooled_output": pooled}

    def _pairs(self, pairs, judge):
        left, right = zip(*pairs, strict=True)
        _, encoded = self._encode(self._tokens(left, right))
        inputs = {"text_a": as_bytes(left), "text_b": as_bytes(right)}
        return Answers(inputs, *judge(encoded["pooled_output"]))

    def _classified(self, pooled):
        # Before dropout, which is not active.
        values = _numpy(self._model.logits(pooled))
        if self._task.kind == "regressor":
            return {"value": values[:, 0]}, {}
        if getattr(self._model.activation, "__name__", "") != "softmax":
            values = softmax(values)
        return _labelled(values, self._task.labels)

    def _order(self, pooled):
        logits = _numpy(self._model.sentence_order_head(pooled))
        return _labelled(softmax(logits), ORDER_LABELS)

    def _classes(self, probabilities):
        labels = as_bytes(self._task.labels)
        classes = np.tile(labels, (len(probabilities), 1))
        return {"classes": classes, "scores": probabilities}

    def _filled(self, texts):
        mask_token = self._tokenizer.mask_token
        texts = [decoded(text) for text in texts]
        # A mask in the middle, one at each end, and more than are answered.
        texts = [
            *texts,
            *(f"{text[:40]} {mask_token} {text[40:80]}" for text in texts),
            mask_token + texts[0] + mask_token,
            mask_token * (MAX_MASKS + 2),
        ]
        rows = [self._tokens_with_masks(text) for text in texts]
        inputs, encoded = self._encode([rows])
        outputs, certain = self._fill(
            inputs["token_ids"], encoded["sequence_output"]
        )
        return Answers({"text": as_bytes(texts)}, outputs, certain)

    def _tokens_with_masks(self, text):
        mask_token = self._tokenizer.mask_token
        parts = re.split(re.escape(mask_token), text)
        tokens = []
        for part in self._tokenizer.encode_batch(parts):
            tokens += [*part, self._tokenizer.mask_token_id]
        return tokens[:-1]

    def _fill(self, token_ids, hidden):
        num_rows, count = len(token_ids), self._task.num_candidates
        shape = (num_rows, MAX_MASKS, count)
        tokens = np.full(shape, b"", object)
        scores = np.zeros(shape, "float32")
        certain = np.ones(shape, "bool")
        numbers = np.zeros(num_rows, "int32")
        pieces = as_bytes(self._tokenizer.get_vocabulary())
        is_mask = token_ids == self._tokenizer.mask_token_id
        for row in np.flatnonzero(is_mask.any(1)):
            (places,) = np.nonzero(is_mask[row])
            places = places[:MAX_MASKS]
            logits = self._model.masked_lm_head(
                hidden[row : row + 1],
                mask_positions=places[None].astype("int32"),
            )
            probabilities = softmax(_numpy(logits)[0])
            numbers[row] = len(places)
            order = np.argsort(-probabilities, 1, kind="stable")
            best = np.take_along_axis(probabilities, order, 1)
            scores[row, : len(places)] = best[:, :count]
            tokens[row, : len(places)] = pieces[order[:, :count]]
            certain[row, : len(places)] = _apart(best)[:, :count]
        outputs = {"num_masks": numbers, "tokens": tokens, "scores": scores}
        return outputs, {"tokens": certain}


def exact_model(model):
    """The model with its computations in float32.

    Args:
        model: task or backbone of ours, of any precision.

    Returns:
        `model`, or a copy with the same weights.
    """
    backbone = getattr(model, "backbone", model)
    if backbone.dtype_policy.name == "float32":
        return model
    config = model.get_config()
    if backbone is model:
        config["dtype"] = "float32"
    else:
        config["backbone"]["config"]["dtype"] = "float32"
        config["preprocessor"] = None
    copy = type(model).from_config(config)
    copy.set_weights(model.get_weights())
    copied = getattr(copy, "backbone", copy)
    copied.encoder.active_layers = backbone.encoder.active_layers
    return copy


def softmax(logits):
    """Turns the last axis into probabilities, in float64 on the way."""
    exponents = np.exp(logits - logits.max(-1, keepdims=True), dtype="float64")
    shares = exponents / exponents.sum(-1, keepdims=True)
    return shares.astype("float32")


def as_bytes(texts):
    """An array of bytes from `str`s or `bytes`."""
    array = np.empty(len(texts), object)
    array[:] = [t if isinstance(t, bytes) else t.encode() for t in texts]
    return array


def decoded(text):
    """A `str`, with U+FFFD for what is not UTF-8."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _outputs(model, inputs):
    """A model's outputs, a few rows at a time."""
    if keras.config.backend() != "tensorflow":
        return model.predict(inputs, batch_size=BATCH_SIZE, verbose=0)
    # `predict` would be traced anew for each model and shape, and TensorFlow
    # warns about that. Called eagerly the model is as fast here.
    parts = []
    for start in range(0, len(inputs["token_ids"]), BATCH_SIZE):
        rows = slice(start, start + BATCH_SIZE)
        found = model({n: x[rows] for n, x in inputs.items()}, training=False)
        parts.append({name: _numpy(x) for name, x in found.items()})
    return {n: np.concatenate([part[n] for part in parts]) for n in parts[0]}


def _vectors(encoded, padding_mask):
    weights = padding_mask[:, :, None].astype("float32")
    total = (encoded["sequence_output"] * weights).sum(1)
    return {
        "pooled": encoded["pooled_output"],
        "mean_pooled": total / np.maximum(weights.sum(1), 1),
    }


def _labelled(probabilities, labels):
    order = np.sort(probabilities, 1)[:, ::-1]
    return (
        {
            "label": as_bytes(labels)[probabilities.argmax(1)],
            "probabilities": probabilities,
        },
        {"label": _apart(order)[:, 0]},
    )


def _apart(falling):
    """Whether each score is far from both neighbours; rows of falling ones."""
    gaps = -np.diff(falling, axis=1) > CLOSE
    edge = np.ones((len(falling), 1), "bool")
    return np.hstack([edge, gaps]) & np.hstack([gaps, edge])


def _numpy(tensor):
    return keras.ops.convert_to_numpy(tensor).astype("float32")
