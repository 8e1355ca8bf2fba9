"""keras-hub's own `AlbertBackbone` and tasks, as presets, in and out.

Their variables are named by path, so that one table of names does here too.
"""

import contextlib
import importlib
import json
from pathlib import Path

from keras_albert.conversion.presets import load_preset_weights
from keras_albert.conversion.source import Source
from keras_albert.conversion.variable_memory import Unfilled
from keras_albert.conversion.variable_memory import release
from keras_albert.conversion.variable_memory import value_of
from keras_albert.conversion.weight_files import WeightFile
from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import PLAIN_LEAVES
from keras_albert.conversion.weight_table import WeightNames
from keras_albert.conversion.weight_table import reshaped_attention
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer

_LAYER = "group_{group}_inner_layer_{inner}"

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
    leaves=PLAIN_LEAVES,
    exact={
        "embeddings/tokens/table": ("token_embedding/embeddings", AS_IS),
        "embeddings/positions/table": (
            "position_embedding/embeddings",
            AS_IS,
        ),
        "embeddings/segments/table": ("segment_embedding/embeddings", AS_IS),
        "masked_lm/output/bias": ("mlm_head/output_bias", AS_IS),
        # There (H, heads, H / heads), and the output the other way round.
        **reshaped_attention(f"{_LAYER}/self_attention_layer"),
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
THEIR_MODULES = (
    "keras_hub.src.models.albert.albert_backbone",
    "keras_hub.src.models.albert.albert_masked_lm",
    "keras_hub.src.models.albert.albert_text_classifier",
)
THEIR_INITIALIZER = "albert_kernel_initializer"
# Of their masked language head, whatever the model's.
HEAD_EPSILON = 1e-5


class KerasHubModel(WeightFile):
    """The weights of a model of keras-hub's, by path."""

    def __init__(self, model):
        self.model = model
        self._variables = {v.path: v for v in model.weights if counts(v)}
        self.shapes = {n: tuple(v.shape) for n, v in self._variables.items()}

    def read(self, name):
        """Returns the array of that name."""
        if name not in self._variables:
            raise ValueError(
                f"{name} was handed on and is no longer here. Open the preset "
                "again."
            )
        return value_of(self._variables[name])

    def release(self, name):
        """Frees a weight: the model cannot be used any more."""
        release(self._variables.pop(name))


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
        with unfilled_kernels():
            model = cls.from_preset(str(folder), load_weights=False)
        load_preset_weights(model, folder)
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
    )


@contextlib.contextmanager
def unfilled_kernels():
    """Makes the kernels of their models built in the block take no memory.

    They are all drawn by one function there. Under another name it would
    merely draw, at the cost of memory.
    """
    modules = [importlib.import_module(name) for name in THEIR_MODULES]
    changed = [m for m in modules if hasattr(m, THEIR_INITIALIZER)]
    original = [getattr(module, THEIR_INITIALIZER) for module in changed]
    for module in changed:
        setattr(module, THEIR_INITIALIZER, lambda *args, **kwargs: Unfilled())
    try:
        yield
    finally:
        for module, function in zip(changed, original, strict=True):
            setattr(module, THEIR_INITIALIZER, function)


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
    if task == "pretrainer":
        epsilon = model.masked_lm_head.layer_norm_epsilon
        return {"layer_norm_epsilon": epsilon}
    if task != "classifier":
        return {}
    return {
        "num_classes": model.num_classes,
        "dropout": model.dropout,
        "activation": model.activation,
    }


def counts(variable):
    """Whether a variable of theirs is a weight."""
    return "seed_generator" not in variable.path
