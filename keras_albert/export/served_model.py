"""Writes the SavedModel: strings in, named answers out.

It is built under the TensorFlow backend; the other backends reach it as
`python -m keras_albert.export.served_model PRESET FOLDER OPTIONS`, where
OPTIONS is JSON.
"""

import json
import sys

import tensorflow as tf

from keras_albert.export.opening import open_model
from keras_albert.export.opening import served_task
from keras_albert.export.served_signatures import ServedModel


def write_saved_model(model, preprocessor, folder, dtype="float32"):
    """Writes a model with its vocabulary as a SavedModel.

    Relative to `keras.export.ExportArchive`: each weight is stored once, not
    twice, and inputs and outputs have names.

    Args:
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`
            on the TensorFlow backend.
        preprocessor: `AlbertTextClassifierPreprocessor`.
        folder: path to write to.
        dtype: `"float32"` or `"bfloat16"`: how the weights are stored.
            Defaults to `"float32"`.
    """
    task = served_task(model, preprocessor)
    served = ServedModel(task, model, preprocessor, dtype)
    signatures = served.signatures()
    tf.saved_model.save(served.module(), str(folder), signatures=signatures)


def main(preset, folder, options):
    """Exports the preset in this process."""
    options = json.loads(options)
    model, preprocessor = open_model(preset)
    backbone = getattr(model, "backbone", model)
    # Not part of what a preset holds.
    backbone.encoder.active_layers = options["active_layers"]
    write_saved_model(model, preprocessor, folder, options["dtype"])


if __name__ == "__main__":
    main(*sys.argv[1:])
