"""Writes the SavedModel of a classifier that takes strings.

Its graph is: tokenize (which also repairs bytes that are not UTF-8), pack,
model, softmax. It is built under the TensorFlow backend; the other backends
reach it as `python -m keras_albert.export.served_model PRESET FOLDER DTYPE`.
"""

import sys

import tensorflow as tf

from keras_albert.tokenizers.packing import pack_segments

# Rows are padded to the longest of the batch, rounded up to a multiple of
# this: short texts stay cheap, and few shapes occur.
LENGTH_MULTIPLE = 16
STRINGS = tf.TensorSpec([None], tf.string)


def write_saved_model(model, folder):
    """Writes a classifier with its tokenizer as a SavedModel.

    Relative to `keras.export.ExportArchive`: each weight is stored once, not
    twice, and the outputs have names.

    Args:
        model: `AlbertTextClassifier` with a preprocessor, on the TensorFlow
            backend.
        folder: path to write to.
    """
    model = unrolled(model)
    preprocessor, tokenizer = model.preprocessor, model.preprocessor.tokenizer
    answer = _answer_function(model)
    # A function of its own, so that its tables stand in the file once.
    tokenize = tf.function(
        tokenizer.tokenize_graph, input_signature=[STRINGS], autograph=False
    )

    def classify(*texts):
        # A server enforces no shape: it feeds whatever a client sends.
        texts = [tf.reshape(text, [-1]) for text in texts]
        tokens = [tokenize(text) for text in texts]
        return answer(model_inputs(preprocessor, tokens))

    signatures = {
        "serving_default": _string_function(classify, "text"),
        "pair": _string_function(classify, "text_a", "text_b"),
    }
    served = tf.Module()
    served.model_weights = [weight.value for weight in model.weights]
    # Found after tracing, since a tokenizer may make its resource on demand.
    served.tokenizer_resources = [
        value
        for value in vars(tokenizer).values()
        if isinstance(value, tf.Module)
    ]
    tf.saved_model.save(served, str(folder), signatures=signatures)


def _answer_function(model):
    """Makes the function from packed ids to label and probabilities."""
    labels = model.labels or [str(i) for i in range(model.num_classes)]
    is_softmax = returns_probabilities(model)
    ids = tf.TensorSpec([None, None], tf.int32)
    names = ("token_ids", "segment_ids", "padding_mask")

    @tf.function(input_signature=[dict.fromkeys(names, ids)], autograph=False)
    def answer(inputs):
        outputs = tf.cast(model(inputs, training=False), tf.float32)
        if not is_softmax:
            outputs = tf.nn.softmax(outputs)
        best = tf.argmax(outputs, -1, output_type=tf.int32)
        return {"label": tf.gather(labels, best), "probabilities": outputs}

    return answer


def model_inputs(preprocessor, tokens):
    """Packs ragged tokens as the preprocessor does, no longer than needed."""
    token_ids, segment_ids, padding_mask = pack_segments(
        tokens,
        **preprocessor.packing_options(),
        pad_to_longest=True,
        length_multiple=LENGTH_MULTIPLE,
    )
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": padding_mask,
    }


def returns_probabilities(model):
    """Tells a model that ends in softmax from one that returns logits."""
    activation = getattr(model.activation, "__name__", None)
    if activation not in (None, "linear", "softmax"):
        raise ValueError(
            "The exported answers are probabilities of exclusive classes, from "
            "a classifier with activation None or 'softmax'. "
            f"Received: activation={activation!r}."
        )
    return activation == "softmax"


def unrolled(model):
    """Returns the model with its layer calls written out one by one.

    The compiled loop and recomputation save time and memory in training; a
    server is better off without.
    """
    if model.backbone.unroll and not model.backbone.remat:
        return model
    config = model.get_config()
    config["backbone"]["config"].update(unroll=True, remat=False)
    config["preprocessor"] = model.preprocessor
    copy = type(model).from_config(config)
    copy.set_weights(model.get_weights())
    return copy


def _string_function(function, *names):
    specs = [tf.TensorSpec([None], tf.string, name=name) for name in names]
    return tf.function(
        function, input_signature=specs, autograph=False
    ).get_concrete_function()


def main(preset, folder, dtype):
    """Exports the preset in this process."""
    from keras_albert.models.loading import load_model

    write_saved_model(load_model(preset, dtype=dtype), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
