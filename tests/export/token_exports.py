"""Tiny models of each kind, written in a format."""

import keras

from keras_albert.export.token_export import export_token_model
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer

LABELS = ["bad", "good", "no idea"]
LENGTHS = (8, 16, 64)  # the tiny models have 23 positions
KINDS = ("classifier", "regressor", "backbone", "pretrainer")


def tiny_model(kind):
    """Returns `(model, preprocessor)`."""
    if kind == "pretrainer":
        model = tiny_pretrainer("word_piece")
        return model, model.preprocessor
    if kind == "regressor":
        model = tiny_classifier(
            "word_piece", num_classes=1, activation="sigmoid"
        )
        return model, model.preprocessor
    model = tiny_classifier("sentence_piece", num_classes=3, labels=LABELS)
    if kind == "backbone":
        return model.backbone, model.preprocessor
    return model, model.preprocessor


class TokenExports:
    """Writes each model in each format once."""

    def __init__(self, root):
        self._root = root
        self._made = {}

    def __call__(self, kind, format):
        """Returns `(model, preprocessor, TokenExport)`."""
        if (kind, format) not in self._made:
            model, preprocessor = tiny_model(kind)
            made = export_token_model(
                model,
                self._root / kind,
                format=format,
                preprocessor=preprocessor,
                lengths=LENGTHS,
            )
            self._made[kind, format] = model, preprocessor, made
        return self._made[kind, format]


def ask_keras(model, inputs):
    """The model's answers to ids, past the preprocessor: arrays."""
    tensors = {n: keras.ops.convert_to_tensor(x) for n, x in inputs.items()}
    return keras.tree.map_structure(
        keras.ops.convert_to_numpy, model(tensors, training=False)
    )
