"""What a run computes: every setting resolved, checked, and written down.

phases ──── spans: steps, length, batch, depth of each
size/config backbone: arguments of the model
optimizer   optimizer: arguments of `make_optimizer`
"""

import dataclasses
from pathlib import Path

from keras_albert.models.config import AlbertConfig
from keras_albert.models.sizes import backbone_arguments
from keras_albert.training.phases import Phase
from keras_albert.training.phases import parse_phases
from keras_albert.training.phases import phase_spans
from keras_albert.training.recipes import OPTIMIZERS
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.recipes import pretraining_rate
from keras_albert.training.recipes import small_config
from keras_albert.training.run_data import BatchSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a pretraining run, resolved.

    Attributes:
        steps: int.
        spans: list of `PhaseSpan`.
        backbone: dict. Arguments of `AlbertBackbone`.
        optimizer: dict. Arguments of `make_optimizer`.
        objective, sentence_order_weight, seed, evaluation_every,
        evaluation_passes, checkpoint_every, jit_compile: as in `pretrain`.
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
    dtype,
    evaluation_every,
    **others,
):
    """Checks the arguments of `pretrain` and opens its sources.

    Args:
        sources: `TextSources` or `FolderSources`.
        steps, …, evaluation_every: as in `pretrain`.
        **others: fields of `RunSettings` that are taken as they are.

    Returns:
        `RunSettings`.

    Raises:
        ValueError, TypeError, FileNotFoundError: for what does not fit
            together.
    """
    check_counts(
        steps=steps,
        batch_size=batch_size,
        evaluation_every=evaluation_every,
        checkpoint_every=others["checkpoint_every"],
        evaluation_passes=others["evaluation_passes"],
    )
    if phases is None:
        phases = [Phase(sequence_length or sources.sequence_length)]
    elif isinstance(phases, str):
        phases = parse_phases(phases)
    spans = phase_spans(phases, steps, batch_size)
    if optimizer not in OPTIMIZERS:
        make_optimizer(optimizer, 0.0, steps=steps)  # raises what is wrong
    sources.open(
        spans,
        BatchSettings(
            others["objective"], others["seed"], others["evaluation_passes"]
        ),
    )
    backbone = _backbone_arguments(
        size, config, sources.tokenizer.vocabulary_size(), dtype
    )
    _check_sizes(backbone, max(span.sequence_length for span in spans))
    _check_depths(backbone, spans)
    if learning_rate is None:
        learning_rate = pretraining_rate(
            optimizer, batch_size, backbone["hidden_dim"]
        )
    optimizer_arguments = {
        "name": optimizer,
        "peak_rate": learning_rate,
        "steps": steps,
        "warmup_steps": warmup_steps,
        "weight_decay": weight_decay,
    }
    make_optimizer(**optimizer_arguments)
    return RunSettings(
        steps=steps,
        spans=spans,
        backbone=backbone,
        optimizer=optimizer_arguments,
        evaluation_every=evaluation_every or max(1, min(1000, steps // 10)),
        **others,
    )


def check_counts(**counts):
    """Raises `ValueError` for a number below 1; `None` is left out."""
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ValueError(
                f"`{name}` must be at least 1. Received: {name}={value}."
            )


def _backbone_arguments(size, config, vocabulary_size, dtype):
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
        if config is None:
            config = small_config()
        elif isinstance(config, (str, Path)):
            config = AlbertConfig.from_file(config)
        elif isinstance(config, dict):
            config = AlbertConfig(**config)
        arguments = config.backbone_arguments(vocabulary_size)
    if dtype is not None:
        arguments["dtype"] = dtype
    return arguments


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
