"""keras-hub's own `AlbertBackbone` and tasks, as presets, in and out.

Their variables are named by path, so that one table of names does here too.
"""

import json
from pathlib import Path

import numpy as np
from keras import ops

from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.model_variables import part_of
from keras_albert.conversion.source import Source
from keras_albert.conversion.weight_files import WeightFile
from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import RESHAPED
from keras_albert.conversion.weight_table import WeightNames
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer

_LAYER = "group_{group}_inner_layer_{inner}"
_ATTENTION = f"{_LAYER}/self_attention_layer"

KERAS_HUB = WeightNames(
    scopes={
        "embeddings/norm": "embeddings_layer_norm",
        "embeddings/projection": "embedding_projection",
        "layers/attention_norm": f"{_LAYER}/self_attention_layer_norm",
        "layers/intermediate": f"{_LAYER}/feedforward_intermediate_dense",
        "layers/feed_forward_output": f"{_LAYER}/feedforward_output_dense",
        "layers/feed_forward_norm": f"{_LAYER}/feedforward_layer_norm",
        "pooler": "pooled_dense",
        "masked_lm/transform": "mlm_head/intermediate_dense",
        "masked_lm/norm": "mlm_head/intermediate_layer_norm",
        "classifier": "logits",
    },
    leaves={
        "kernel": ("/kernel", AS_IS),
        "bias": ("/bias", AS_IS),
        "gamma": ("/gamma", AS_IS),
        "beta": ("/beta", AS_IS),
    },
    exact={
        "embeddings/tokens/table": ("token_embedding/embeddings", AS_IS),
        "embeddings/positions/table": (
            "position_embedding/embeddings",
            AS_IS,
        ),
        "embeddings/segments/table": ("segment_embedding/embeddings", AS_IS),
        "masked_lm/output/bias": ("mlm_head/output_bias", AS_IS),
        # There (H, heads, H / heads), and the output the other way round.
        **{
            f"layers/{name}/{leaf}": (f"{_ATTENTION}/{name}/{leaf}", RESHAPED)
            for name in ("query", "key", "value", "attention_output")
            for leaf in ("kernel", "bias")
        },
    },
)

SHARED_ARGUMENTS = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "num_groups",
    "num_inner_repetitions",
    "embedding_dim",
    "hidden_dim",
    "intermediate_dim",
    "max_sequence_length",
    "num_segments",
)
TASKS = {
    "AlbertBackbone": "backbone",
    "AlbertMaskedLM": "pretrainer",
    "AlbertTextClassifier": "classifier",
}
EPSILON_NOTE = (
    "keras-hub's masked language head normalises with an epsilon of 1e-5, "
    "ours with 1e-12 as the published models do: its scores differ by some "
    "1e-5 of their size."
)
TOKENIZER_NOTE = (
    "keras-hub's AlbertTokenizer neither lower-cases nor strips accents nor "
    "splits '2013,' before the comma. Give it text that is lower-cased."
)


class KerasHubModel(WeightFile):
    """The weights of a model of keras-hub's, by path."""

    def __init__(self, model):
        self.model = model
        self._variables = {v.path: v for v in model.weights if _counts(v)}
        self.shapes = {n: tuple(v.shape) for n, v in self._variables.items()}

    def read(self, name):
        """Returns the array of that name."""
        return ops.convert_to_numpy(self._variables[name].value)


def keras_hub_source(folder):
    """Opens a preset of keras-hub's.

    Args:
        folder: path of the preset.

    Returns:
        `Source`.

    Raises:
        ValueError: if it is damaged or holds no ALBERT.
    """
    import keras_hub

    folder = Path(folder)
    name = _class_name(folder)
    _check_weight_names(folder)
    cls = getattr(keras_hub.models, name)
    try:
        model = cls.from_preset(str(folder))
    except (OSError, KeyError) as error:
        first = " ".join(str(error).split())[:200]
        raise ValueError(
            f"The weights in {folder} are damaged or cut off. Fetch the preset "
            f"again. Keras says: {first}"
        ) from None
    backbone = getattr(model, "backbone", model)
    arguments = {name: getattr(backbone, name) for name in SHARED_ARGUMENTS}
    preprocessor = getattr(model, "preprocessor", None)
    tokenizer = getattr(preprocessor, "tokenizer", None) or _tokenizer(folder)
    return Source(
        kind="keras_hub",
        arguments={
            **arguments,
            # They have one rate for both, always a projection, one activation.
            "hidden_dropout": backbone.dropout,
            "attention_dropout": backbone.dropout,
            "use_embedding_projection": True,
            "activation": "gelu_tanh",
        },
        names=KERAS_HUB,
        weights=KerasHubModel(model),
        task=TASKS[name],
        task_arguments=_task_arguments(model, TASKS[name]),
        # Theirs does not normalise the text; ours is what the models expect.
        tokenizer=tokenizer and AlbertTokenizer(tokenizer.proto),
        architecture=name,
        notes=[EPSILON_NOTE] if name == "AlbertMaskedLM" else [],
    )


def write_keras_hub(converted, folder):
    """Writes a preset that `keras_hub.models.Albert*.from_preset` loads.

    Args:
        converted: `Converted`.
        folder: path of a folder that exists.

    Returns:
        List of sentences: what keras-hub cannot hold.

    Raises:
        ValueError: if keras-hub has not this model.
    """
    model, notes = _their_model(converted)
    file = {v.path: v for v in model.weights if _counts(v)}
    variables = model_variables(converted.model)
    for name in converted.added_here("keras_hub"):
        variables.pop(name)
    set_paths = set()
    for name, variable in variables.items():
        row = KERAS_HUB.row(name)
        if row is None or row[0] not in file:
            continue
        theirs = file[row[0]]
        value = ops.convert_to_numpy(variable.value)
        theirs.assign(np.reshape(value, theirs.shape))
        set_paths.add(row[0])
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
    model.save_to_preset(str(folder))
    notes += _write_tokenizer(converted.tokenizer, folder)
    return notes


def _their_model(converted):
    import keras_hub

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
    theirs = keras_hub.models.AlbertBackbone(
        **{name: getattr(backbone, name) for name in SHARED_ARGUMENTS},
        dropout=backbone.hidden_dropout,
    )
    notes = []
    if backbone.hidden_dropout != backbone.attention_dropout:
        notes.append(
            "keras-hub has one dropout rate for both: "
            f"{backbone.hidden_dropout}, the hidden one, is taken."
        )
    task = {cls: task for task, cls in _our_tasks().items()}.get(type(model))
    if task == "AlbertMaskedLM":
        notes.append(EPSILON_NOTE)
        return keras_hub.models.AlbertMaskedLM(theirs), notes
    if task == "AlbertTextClassifier":
        classifier = keras_hub.models.AlbertTextClassifier(
            theirs,
            num_classes=model.num_classes,
            dropout=model.dropout,
            activation=model.activation,
        )
        return classifier, notes
    return theirs, notes


def _our_tasks():
    from keras_albert.conversion.source import MODELS

    return {name: MODELS[task] for name, task in TASKS.items()}


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


def _class_name(folder):
    names = {}
    for file in ("config.json", "task.json"):
        path = folder / file
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf-8"))
            names[file] = str(content.get("registered_name"))
    backbone = names.get("config.json")
    if backbone != "keras_hub>AlbertBackbone":
        raise ValueError(
            f"{folder} holds a {backbone!r}. Expected an AlbertBackbone of "
            "keras-hub's; other models cannot be converted."
        )
    task = names.get("task.json", backbone).removeprefix("keras_hub>")
    # A task without a counterpart is loaded as its encoder.
    return task if task in TASKS else "AlbertBackbone"


def _check_weight_names(folder):
    """Refuses a list of weight files that leaves the preset's folder."""
    path = folder / "model.weights.json"
    if not path.is_file():
        return
    weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
    for value in weight_map.values():
        for name in [value] if isinstance(value, str) else value:
            if Path(name).name != name:
                raise ValueError(
                    f"{path} points at {name!r}, outside its folder. Refused: "
                    "the parts of a model lie beside their index."
                )


def _tokenizer(folder):
    import keras_hub

    if not (folder / "tokenizer.json").is_file():
        return None
    return keras_hub.models.AlbertTokenizer.from_preset(str(folder))


def _task_arguments(model, task):
    if task != "classifier":
        return {}
    return {
        "num_classes": model.num_classes,
        "dropout": model.dropout,
        "activation": model.activation,
    }


def _counts(variable):
    return "seed_generator" not in variable.path
