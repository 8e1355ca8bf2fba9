"""Raw strings, alone or in pairs -> the inputs of `AlbertTextClassifier`."""

import keras
import numpy as np
from keras_hub.models import TextClassifierPreprocessor

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.tokenizers.packing import TRUNCATE
from keras_albert.tokenizers.packing import pack_segments
from keras_albert.tokenizers.packing import pack_segments_python
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer


@keras.saving.register_keras_serializable("keras_albert")
class AlbertTextClassifierPreprocessor(TextClassifierPreprocessor):
    """Tokenizes and packs strings, or pairs of strings, for classification.

    `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, cut and padded to
    `sequence_length`. Inside `tf.data` and `tf.function` it runs as
    TensorFlow operations, elsewhere in Python and NumPy; both give the same
    ids.

    Relative to keras-hub: a tuple of two texts is always one pair.
    `preprocessor((a, b))` there takes `b` for the labels and drops it from
    the input. Labels that are themselves strings must therefore come as the
    second argument, `preprocessor(x, y)`. `padding_mask` is int32, as the
    model's input is, and comes from the lengths, so a token that happens to
    have the padding id is not hidden.

    Args:
        tokenizer: `AlbertTokenizer` or `AlbertWordPieceTokenizer`.
        sequence_length: int. Length of every row, special tokens included.
            Defaults to `512`.
        truncate: `"round_robin"` (cut the longer text of a pair first) or
            `"waterfall"` (cut the second first). Defaults to
            `"round_robin"`.

    Call arguments:
        x: a string, a list or tensor of strings, or a tuple of two of these.
        y: labels, passed through.
        sample_weight: weights, passed through.

    Returns:
        A dictionary of int32 tensors `token_ids`, `segment_ids` and
        `padding_mask` of shape `(batch_size, sequence_length)`, without the
        batch axis for one string; in a tuple with `y` and `sample_weight`
        where those were given.

    Example:

    ```python
    tokenizer = ka.AlbertTokenizer("vocabulary.model")
    preprocessor = ka.AlbertTextClassifierPreprocessor(tokenizer, 128)
    preprocessor(["a fine film", "a dull one"])
    preprocessor((["Is it open?"], ["We close at nine."]))
    ```
    """

    backbone_cls = AlbertBackbone
    # Presets with a WordPiece vocabulary reload too: keras-hub takes the
    # class of the tokenizer from the preset's own configuration.
    tokenizer_cls = AlbertTokenizer

    def __init__(
        self, tokenizer, sequence_length=512, truncate="round_robin", **kwargs
    ):
        if truncate not in TRUNCATE:
            raise ValueError(
                f"`truncate` must be one of {TRUNCATE}. "
                f"Received: truncate={truncate!r}."
            )
        if sequence_length < 3:
            raise ValueError(
                "`sequence_length` must be at least 3: [CLS], one token and "
                f"[SEP]. Received: sequence_length={sequence_length}."
            )
        super().__init__(
            tokenizer,
            sequence_length=sequence_length,
            truncate=truncate,
            **kwargs,
        )

    def build(self, input_shape=None):
        """Makes nothing: keras-hub's packer is not used."""
        self.built = True

    def __call__(self, *args, **kwargs):
        """Calls the layer; a lone tuple of two texts is one pair."""
        if len(args) == 1 and _is_text_pair(args[0]) and "y" not in kwargs:
            args = (args[0], None)  # else keras-hub reads it as `(x, y)`
        return super().__call__(*args, **kwargs)

    def _call_tf(self, x, y=None, sample_weight=None):
        import tensorflow as tf

        with tf.device("cpu"):  # string operations have no other kernels
            texts = [tf.convert_to_tensor(text) for text in _segments(x)]
            single = texts[0].shape.rank == 0
            outputs = pack_segments(
                [
                    self.tokenizer.tokenize_graph(tf.reshape(text, [-1]))
                    for text in texts
                ],
                **self.packing_options(),
            )
        return self._finish(outputs, single, y, sample_weight)

    def _call_python(self, x, y=None, sample_weight=None):
        texts = [_as_list(text) for text in _segments(x)]
        single = isinstance(texts[0], str)
        outputs = pack_segments_python(
            [
                self.tokenizer.encode_batch([text] if single else text)
                for text in texts
            ],
            **self.packing_options(),
        )
        outputs = [keras.ops.convert_to_tensor(out) for out in outputs]
        return self._finish(outputs, single, y, sample_weight)

    def packing_options(self):
        """Arguments of `pack_segments` for this tokenizer and length."""
        return {
            "cls_token_id": self.tokenizer.cls_token_id,
            "sep_token_id": self.tokenizer.sep_token_id,
            "pad_token_id": self.tokenizer.pad_token_id,
            "sequence_length": self.sequence_length,
            "truncate": self.truncate,
        }

    def _finish(self, outputs, single, y, sample_weight):
        names = ("token_ids", "segment_ids", "padding_mask")
        x = {
            name: output[0] if single else output
            for name, output in zip(names, outputs, strict=True)
        }
        return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)


def _segments(x):
    segments = x if isinstance(x, tuple) else (x,)
    if len(segments) not in (1, 2):
        raise ValueError(
            "`x` must be text or a tuple of two texts. "
            f"Received: a tuple of {len(segments)}; give a batch as a list."
        )
    return segments


def _as_list(text):
    """Turns any holder of strings into a `str` or a list of `str`."""
    if hasattr(text, "numpy"):
        text = text.numpy()
    if isinstance(text, (np.ndarray, np.generic)):
        text = text.tolist()
    if isinstance(text, list):
        return [_as_str(item) for item in text]
    return _as_str(text)


def _as_str(text):
    if isinstance(text, bytes):
        return text.decode("utf-8", errors="replace")
    if not isinstance(text, str):
        raise ValueError(
            f"Text must be strings. Received: {text!r} of type "
            f"{type(text).__name__}; give token ids to a model whose "
            "`preprocessor` is None."
        )
    return text


def _is_text_pair(x):
    return type(x) is tuple and len(x) == 2 and all(map(_is_text, x))


def _is_text(x):
    """Tells text from labels, whatever holds it."""
    if isinstance(x, (str, bytes)):
        return True
    if isinstance(x, list):
        return len(x) > 0 and _is_text(x[0])
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "US" or (
            dtype.kind == "O" and x.size > 0 and _is_text(x.reshape(-1)[0])
        )
    return "string" in str(dtype)
