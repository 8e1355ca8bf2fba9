"""The functions behind the signatures of an export.

    strings -> ServedTexts -> inputs ┐
    token ids ───────────────────────┴-> run_in_groups(encoder, head) -> answer

The encoder and each head are functions of their own: their graphs stand in
the file once, however many signatures call them.
"""

import tensorflow as tf

from keras_albert.export.length_groups import run_in_groups
from keras_albert.export.served_encoder import ServedEncoder
from keras_albert.export.served_heads import ClassHead
from keras_albert.export.served_heads import LikeliestTokens
from keras_albert.export.served_heads import mean_of_tokens
from keras_albert.export.served_layers import Dense
from keras_albert.export.served_texts import ServedTexts
from keras_albert.export.served_texts import flat
from keras_albert.export.signature_shapes import ORDER_LABELS
from keras_albert.export.signature_shapes import TOKEN_NAMES

# The feature of a serialized example that holds the text.
TEXT_FEATURE = "text"


class ServedModel:
    """Weights, vocabulary and functions of an export.

    No `tf.Module`: TensorFlow would write each function among its attributes
    to the file once more.

    Args:
        task: `ServedTask`, the promise that is kept here.
        model: `AlbertTextClassifier`, `AlbertPretrainer` or `AlbertBackbone`
            on the TensorFlow backend.
        preprocessor: `AlbertTextClassifierPreprocessor`.
        dtype: `"float32"` or `"bfloat16"`, see `ServedEncoder`. Heads are
            float32 always.
    """

    def __init__(self, task, model, preprocessor, dtype="float32"):
        self._task = task
        backbone = getattr(model, "backbone", model)
        self.texts = ServedTexts(preprocessor)
        self.encoder = ServedEncoder(backbone, dtype)
        ids = tf.TensorSpec([None, None], tf.int32)
        self._encode = tf.function(
            self.encoder, input_signature=[ids] * 3, autograph=False
        )
        self.head = self.mask_head = None
        self._vectors = self._grouped(self._pool, self._vector_specs())
        if task.kind in ("classifier", "regressor"):
            self.head = ClassHead(model, task)
        if task.kind == "pretrainer":
            self.head = Dense.of(model.sentence_order_head.logits)
            self.mask_head = LikeliestTokens(
                model.masked_lm_head, self.encoder.tokens, task.num_candidates
            )
            self._mask_token_id = preprocessor.tokenizer.mask_token_id
            self._pieces = _pieces(preprocessor.tokenizer, task)
            self._candidates = self._grouped(
                self._fill, self.mask_head.output_specs()
            )

    def signatures(self):
        """Makes all functions.

        Returns:
            Dict from the signature's name to a concrete function.
        """
        return {name: self.signature(name) for name in self._task.signatures()}

    def signature(self, name):
        """Makes one function.

        Args:
            name: string, a name of `ServedTask.signatures`.

        Returns:
            A concrete function of one tensor for each input.
        """
        inputs = self._task.signatures()[name]["inputs"]
        return _concrete(self._functions()[name], inputs)

    def module(self):
        """What is saved: the weights, and the vocabulary once it was used."""
        module = tf.Module()
        module.encoder = self.encoder
        module.heads = [h for h in (self.head, self.mask_head) if h is not None]
        module.tokenizer_resources = self.texts.resources()
        return module

    def _functions(self):
        common = {"embed": self._embed_text, "tokens": self._vectors}
        if self._task.kind == "pretrainer":
            return {
                **common,
                "serving_default": self._fill_masks,
                "fill_mask": self._fill_masks,
                "sentence_order": self._judge_order,
            }
        if self._task.kind == "backbone":
            return {**common, "serving_default": self._embed_text}
        return {
            "embed": self._embed_text,
            "serving_default": self._classify_texts,
            "pair": self._classify_texts,
            "tokens": self._classify_tokens,
            "classify": self._classify_examples,
            "regress": self._regress_examples,
        }

    def _grouped(self, function, specs):
        """A function from the model's inputs to one answer a row."""
        ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(input_signature=[ids] * 3, autograph=False)
        def run(token_ids, segment_ids, padding_mask):
            values = (token_ids, segment_ids, padding_mask)
            inputs = dict(zip(TOKEN_NAMES, values, strict=True))
            return run_in_groups(function, inputs, specs)

        return run

    def _vector_specs(self):
        vector = tf.TensorSpec([self._task.hidden_dim], tf.float32)
        return {"pooled": vector, "mean_pooled": vector}

    def _pool(self, inputs):
        hidden = self._encode(*(inputs[name] for name in TOKEN_NAMES))
        return {
            "pooled": self.encoder.pooled(hidden),
            "mean_pooled": mean_of_tokens(hidden, inputs["padding_mask"]),
        }

    def _fill(self, inputs):
        hidden = self._encode(*(inputs[name] for name in TOKEN_NAMES))
        return self.mask_head(
            hidden, tf.equal(inputs["token_ids"], self._mask_token_id)
        )

    # The signatures' functions: named tensors in, named tensors out.

    def _embed_text(self, text):
        return self._vectors(**self.texts.pack(text))

    def _classify_texts(self, *texts):
        return self._classify_tokens(**self.texts.pack(*texts))

    def _classify_tokens(self, token_ids, segment_ids, padding_mask):
        vectors = self._vectors(token_ids, segment_ids, padding_mask)
        answer = self.head(vectors["pooled"])
        if self._task.kind == "regressor":
            return answer
        return _labelled(answer["probabilities"], self._task.labels)

    def _classify_examples(self, inputs):
        scores = self._classify_texts(_texts_of(inputs))["probabilities"]
        labels = tf.constant([self._task.labels])
        classes = tf.tile(labels, [tf.shape(scores)[0], 1])
        return {"classes": classes, "scores": scores}

    def _regress_examples(self, inputs):
        return {"outputs": self._classify_texts(_texts_of(inputs))["value"]}

    def _fill_masks(self, text):
        answer = self._candidates(**self.texts.pack_with_masks(text))
        return {
            "num_masks": answer["num_masks"],
            # Candidate -1, a place without a mask, becomes the empty text.
            "tokens": tf.gather(self._pieces, answer["candidates"] + 1),
            "scores": answer["scores"],
        }

    def _judge_order(self, text_a, text_b):
        vectors = self._vectors(**self.texts.pack(text_a, text_b))
        logits = self.head(vectors["pooled"])
        return _labelled(tf.nn.softmax(logits), ORDER_LABELS)


def _labelled(probabilities, labels):
    best = tf.argmax(probabilities, -1, output_type=tf.int32)
    return {
        "label": tf.gather(tf.constant(labels), best),
        "probabilities": probabilities,
    }


def _texts_of(examples):
    # A missing feature is an empty text: an error would fail all requests
    # that the server has merged with this one.
    feature = tf.io.FixedLenFeature([], tf.string, default_value="")
    parsed = tf.io.parse_example(flat(examples), {TEXT_FEATURE: feature})
    return parsed[TEXT_FEATURE]


def _pieces(tokenizer, task):
    """The tokens' texts, after the empty one for "none"."""
    pieces = tokenizer.get_vocabulary()
    # A table may be larger than its vocabulary; such ids have no text.
    return ("", *pieces, *[""] * (task.vocabulary_size - len(pieces)))


def _concrete(function, inputs):
    specs = [
        tf.TensorSpec(
            [size if size >= 0 else None for size in shape], dtype, name=name
        )
        for name, (dtype, shape) in inputs.items()
    ]
    return tf.function(
        lambda *values: function(*values),
        input_signature=specs,
        autograph=False,
    ).get_concrete_function()
