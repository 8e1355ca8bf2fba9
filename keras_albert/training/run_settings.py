"""What a run computes: every setting resolved, checked, and written down.

phases ──── spans: steps, length, batch, depth of each
size/config backbone: arguments of the model
optimizer   optimizer: arguments of `make_optimizer`
"""

import dataclasses
import os

from keras_albert.layers.activations import get_activation
from keras_albert.layers.layer_schedule import layer_schedule
from keras_albert.models.config import AlbertConfig
from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.phases import Phase
from keras_albert.training.phases import check_phases
from keras_albert.training.phases import examples_per_step
from keras_albert.training.phases import parse_phases
from keras_albert.training.phases import phase_spans
from keras_albert.training.published_recipe import Recipe
from keras_albert.training.published_recipe import make_recipe
from keras_albert.training.published_recipe import recipe_name
from keras_albert.training.published_recipe import recipe_steps
from keras_albert.training.recipes import OPTIMIZERS
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.recipes import small_config
from keras_albert.training.run_data import BatchSettings
from keras_albert.training.setting_checks import check_counts
from keras_albert.training.setting_checks import check_given
from keras_albert.training.setting_checks import check_numbers
from keras_albert.training.weight_dtype import check_weight_dtype

_OTHER_NUMBERS = (
    "checkpoint_every",
    "evaluation_passes",
    "accumulate",
    "seed",
    "sentence_order_weight",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a pretraining run, resolved.

    Attributes:
        steps: int.
        spans: list of `PhaseSpan`.
        backbone: dict. Arguments of `AlbertBackbone`.
        optimizer: dict. Arguments of `make_optimizer`.
        objective, sentence_order_weight, seed, evaluation_every,
        evaluation_passes, checkpoint_every, jit_compile, accumulate,
        tensorboard: as in `pretrain`.
        recipe: `Recipe`. What was derived, and why.
    """

    steps: int
    spans: list
    backbone: dict
    optimizer: dict
    objective: str
    sentence_order_weight: float
    seed: int
    evaluation_every: int
    evaluation_passes: int
    checkpoint_every: int | None
    jit_compile: bool | str
    recipe: Recipe
    accumulate: int
    tensorboard: bool

    @property
    def sequence_length(self):
        """The longest of all phases."""
        return max(span.sequence_length for span in self.spans)

    def describe(self):
        """What of this decides the run's numbers, as plain values."""
        return {
            **{f"model.{k}": v for k, v in self.backbone.items()},
            **{f"optimizer.{k}": v for k, v in self.optimizer.items()},
            "phases": [dataclasses.asdict(span) for span in self.spans],
            "objective": self.objective,
            "sentence_order_weight": self.sentence_order_weight,
            "seed": self.seed,
            "evaluation_every": self.evaluation_every,
            "evaluation_passes": self.evaluation_passes,
        }


def resolve_settings(
    sources,
    *,
    recipe,
    steps,
    size,
    config,
    batch_size,
    sequence_length,
    phases,
    optimizer,
    learning_rate,
    warmup_steps,
    weight_decay,
    clip_norm,
    ema_momentum,
    dtype,
    unroll,
    remat,
    evaluation_every,
    **others,
):
    """Checks the arguments of `pretrain` and opens its sources.

    Args:
        sources: `TextSources` or `FolderSources`.
        recipe, …, evaluation_every: as in `pretrain`.
        **others: fields of `RunSettings` that are taken as they are.

    Returns:
        `RunSettings`.

    Raises:
        ValueError, TypeError, FileNotFoundError: for what does not fit
            together.
    """
    _check_numbers(
        steps=steps,
        batch_size=batch_size,
        sequence_length=sequence_length,
        warmup_steps=warmup_steps,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        clip_norm=clip_norm,
        ema_momentum=ema_momentum,
        evaluation_every=evaluation_every,
        **{name: others[name] for name in _OTHER_NUMBERS},
    )
    recipe = recipe_name(recipe, size, steps)
    if phases is None:
        phases = [Phase(sequence_length or sources.sequence_length)]
    elif isinstance(phases, str):
        phases = parse_phases(phases)
    check_phases(phases)
    num_examples = examples_per_step(phases, batch_size)
    if steps is None:
        steps = recipe_steps(recipe, num_examples)
    spans = phase_spans(phases, steps, batch_size)
    _check_parts(spans, others["accumulate"])
    if optimizer not in (None, *OPTIMIZERS):
        make_optimizer(optimizer, 0.0, steps=steps)  # raises what is wrong
    sources.open(
        spans,
        BatchSettings(
            others["objective"], others["seed"], others["evaluation_passes"]
        ),
    )
    backbone = _backbone_arguments(
        size, config, sources.tokenizer.vocabulary_size()
    )
    given = {"dtype": dtype, "unroll": unroll, "remat": remat}
    backbone.update({k: v for k, v in given.items() if v is not None})
    check_weight_dtype(backbone.get("dtype"))
    _check_sizes(backbone, max(span.sequence_length for span in spans))
    _check_parts_of_model(backbone, others["objective"])
    _check_depths(backbone, spans)
    recipe = make_recipe(
        recipe,
        num_examples,
        backbone["hidden_dim"],
        steps=steps,
        optimizer=optimizer,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
    )
    optimizer_arguments = {
        "name": recipe.optimizer,
        "peak_rate": recipe.learning_rate,
        "steps": steps,
        "warmup_steps": recipe.warmup_steps,
        "weight_decay": weight_decay,
        "clip_norm": clip_norm,
        "accumulate": others["accumulate"],
        "ema_momentum": ema_momentum,
    }
    make_optimizer(**optimizer_arguments)
    return RunSettings(
        steps=steps,
        spans=spans,
        backbone=backbone,
        optimizer=optimizer_arguments,
        recipe=recipe,
        evaluation_every=evaluation_every or max(1, min(1000, steps // 10)),
        **others,
    )


def _check_numbers(
    *,
    warmup_steps,
    learning_rate,
    weight_decay,
    clip_norm,
    ema_momentum,
    seed,
    sentence_order_weight,
    **counts,
):
    check_given(
        batch_size=counts["batch_size"],
        accumulate=counts["accumulate"],
        evaluation_passes=counts["evaluation_passes"],
        seed=seed,
        sentence_order_weight=sentence_order_weight,
    )
    check_counts(**counts)
    check_counts(at_least=0, warmup_steps=warmup_steps, seed=seed)
    check_numbers("above 0", learning_rate=learning_rate)
    check_numbers(
        "at least 0",
        weight_decay=weight_decay,
        clip_norm=clip_norm,
        sentence_order_weight=sentence_order_weight,
    )
    check_numbers("at least 0 and below 1", ema_momentum=ema_momentum)


def _backbone_arguments(size, config, vocabulary_size):
    if size is not None and config is not None:
        raise ValueError(
            "Both a `size` and a `config` were given. Received: "
            f"size={size!r}, config={config!r}. Give one of them."
        )
    if size is not None:
        arguments = {
            **backbone_arguments(size),
            "vocabulary_size": vocabulary_size,
        }
    else:
        config = small_config() if config is None else as_config(config)
        arguments = config.backbone_arguments(vocabulary_size)
    return arguments


def as_config(config):
    """Returns the `AlbertConfig` that was given in one of several ways.

    Args:
        config: `AlbertConfig`, dict, or path of a YAML or JSON file.

    Raises:
        TypeError: if it is none of these.
        ValueError, FileNotFoundError: as `AlbertConfig.from_file`.
    """
    if isinstance(config, AlbertConfig):
        return config
    if isinstance(config, (str, os.PathLike)):
        return AlbertConfig.from_file(config)
    if isinstance(config, dict) and all(isinstance(k, str) for k in config):
        return AlbertConfig(**config)
    raise TypeError(
        "`config` is an `AlbertConfig`, a dict of its fields, or the path of "
        f"a YAML or JSON file. Received: config={config!r}."
    )


def _check_parts(spans, parts):
    for span in spans:
        if span.batch_size % parts:
            fitting = [
                size
                for size in range(1, span.batch_size + 1)
                if span.batch_size % size == 0
            ]
            nearest = min(fitting, key=lambda size: abs(size - parts))
            raise ValueError(
                f"`accumulate` must divide the batch. Received: batches of "
                f"{span.batch_size}, accumulate={parts}. Take "
                f"accumulate={nearest}."
            )


def _check_sizes(arguments, sequence_length):
    hidden_dim, num_heads = arguments["hidden_dim"], arguments["num_heads"]
    if hidden_dim % num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. Received: "
            f"hidden_dim={hidden_dim}, num_heads={num_heads}."
        )
    positions = arguments.get("max_sequence_length", 512)
    if sequence_length > positions:
        raise ValueError(
            f"`sequence_length` is {sequence_length}, but the model has only "
            f"{positions} positions. Shorten it, or raise "
            "`max_sequence_length` in the configuration."
        )


def _check_parts_of_model(arguments, objective):
    """Finds what its layers would refuse, before there is text to read."""
    get_activation(arguments.get("activation", "gelu_tanh"))
    layer_schedule(
        arguments.get("sharing", "all"),
        arguments["num_layers"],
        arguments.get("num_groups", 1),
        arguments.get("num_inner_repetitions", 1),
    )
    widths = arguments["embedding_dim"], arguments["hidden_dim"]
    if (
        arguments.get("use_embedding_projection") is False
        and len({*widths}) > 1
    ):
        raise ValueError(
            "`use_embedding_projection: false` needs equal widths. Received: "
            f"embedding_dim={widths[0]}, hidden_dim={widths[1]}. Leave it out."
        )
    segments = arguments.get("num_segments", 2)
    if segments < 2 and objective != "none":
        raise ValueError(
            "A pair of segments needs `num_segments` of at least 2. Received: "
            f"num_segments={segments}, objective={objective!r}. Raise it in "
            'the configuration, or train with objective "none".'
        )


def _check_depths(arguments, spans):
    low, high = arguments.get("num_groups", 1), arguments["num_layers"]
    depths = [span.num_layers or high for span in spans]
    if not all(low <= depth <= high for depth in depths):
        raise ValueError(
            f"The layers of a phase must lie between {low} and {high}. "
            f"Received: {depths}."
        )
    if depths[-1] != high:
        raise ValueError(
            f"The last phase must train all {high} layers of the model. "
            f"Received: {depths[-1]}."
        )
