"""Models of ours as presets that keras-hub loads."""

import numpy as np

from keras_albert.conversion.keras_hub import KERAS_HUB
from keras_albert.conversion.keras_hub import SHARED_ARGUMENTS
from keras_albert.conversion.keras_hub import counts
from keras_albert.conversion.keras_hub import unfilled_kernels
from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.model_variables import part_of
from keras_albert.conversion.variable_memory import hand_over
from keras_albert.conversion.variable_memory import release
from keras_albert.conversion.variable_memory import streamed
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer

TOKENIZER_NOTE = (
    "keras-hub's AlbertTokenizer neither lower-cases nor strips accents nor "
    "splits '2013,' before the comma. Give it text that is lower-cased."
)


def write_keras_hub(converted, folder, keep=True):
    """Writes a preset that `keras_hub.models.Albert*.from_preset` loads.

    Args:
        converted: `Converted`.
        folder: path of a folder that exists.
        keep: bool. Whether the model is used afterwards. If not, its weights
            are released as they go over. Defaults to `True`.

    Returns:
        List of sentences: what keras-hub cannot hold.

    Raises:
        ValueError: if keras-hub has not this model.
    """
    model, notes = _their_model(converted)
    file = {v.path: v for v in model.weights if counts(v)}
    variables = model_variables(converted.model)
    for name in converted.added_here("keras_hub"):
        variables.pop(name)
    set_paths = set()
    for name, variable in variables.items():
        row = KERAS_HUB.row(name)
        if row is None or row[0] not in file:
            continue
        theirs = file[row[0]]
        hand_over(variable, theirs)
        set_paths.add(row[0])
        if not keep:
            release(variable)
    if "embeddings/projection/kernel" not in variables:
        width = file["embedding_projection/bias"].shape[0]
        file["embedding_projection/kernel"].assign(np.eye(width))
        file["embedding_projection/bias"].assign(np.zeros(width))
        set_paths |= {
            "embedding_projection/kernel",
            "embedding_projection/bias",
        }
    unset = set(file) - set_paths
    if unset:
        raise ValueError(
            f"Weights of keras-hub's model were left random: "
            f"{', '.join(sorted(unset))}. Convert a model that has them."
        )
    lost = {part_of(n) for n in variables if KERAS_HUB.row(n) is None}
    notes += [f"keras-hub has no {part} head: left out." for part in lost]
    with streamed(model):
        model.save_to_preset(str(folder))
    notes += _write_tokenizer(converted.tokenizer, folder)
    return notes


def _their_model(converted):
    model = converted.model
    backbone = getattr(model, "backbone", model)
    for name, expected in (
        ("activation", "gelu_tanh"),
        ("layer_norm_epsilon", 1e-12),
    ):
        value = getattr(backbone, name)
        if value != expected:
            raise ValueError(
                f"keras-hub's AlbertBackbone has {name}={expected!r} and no "
                f"other. Received: {name}={value!r}. Hugging Face's format "
                "can hold it."
            )
    notes = []
    if backbone.hidden_dropout != backbone.attention_dropout:
        notes.append(
            "keras-hub has one dropout rate for both: "
            f"{backbone.hidden_dropout}, the hidden one, is taken."
        )
    with unfilled_kernels():
        theirs = _build_theirs(model, backbone)
    return theirs, notes


def _build_theirs(model, backbone):
    import keras_hub

    theirs = keras_hub.models.AlbertBackbone(
        **{name: getattr(backbone, name) for name in SHARED_ARGUMENTS},
        dropout=backbone.hidden_dropout,
    )
    if isinstance(model, AlbertPretrainer):
        return keras_hub.models.AlbertMaskedLM(theirs)
    if isinstance(model, AlbertTextClassifier):
        return keras_hub.models.AlbertTextClassifier(
            theirs,
            num_classes=model.num_classes,
            dropout=model.dropout,
            activation=model.activation,
        )
    return theirs


def _write_tokenizer(tokenizer, folder):
    if tokenizer is None:
        return []
    if not isinstance(tokenizer, AlbertTokenizer):
        return [
            "keras-hub's ALBERT has no WordPiece tokenizer, so none was "
            "written."
        ]
    import keras_hub

    theirs = keras_hub.models.AlbertTokenizer(proto=tokenizer.proto)
    theirs.save_to_preset(str(folder))
    return [TOKENIZER_NOTE]
