"""The shapes of a run's steps: what there is to compile, or to calculate.

phases  128@6:50%  512:10%  128@6:40%
shapes  (128, …, 6)  (512, …, 12)         equal ones are compiled once
"""

import dataclasses

from keras_albert.data.masking import default_num_predictions
from keras_albert.layers.tpu_attention import fits_tpu_kernel
from keras_albert.training.plan_estimate import StepShape


@dataclasses.dataclass(frozen=True)
class CoreShape:
    """One core's part of a step.

    Attributes:
        sequence_length: int.
        batch_size: int. Examples that a core works on at a time.
        num_layers: int. Layer calls.
    """

    sequence_length: int
    batch_size: int
    num_layers: int


def core_shapes(run, num_cores):
    """Lists the `CoreShape` of each phase of a run.

    Args:
        run: `RunSettings`, whose batches divide among the cores.
        num_cores: int.
    """
    return [
        CoreShape(
            span.sequence_length,
            span.batch_size // run.accumulate // num_cores,
            span.num_layers or run.backbone["num_layers"],
        )
        for span in run.spans
    ]


def step_shape(run, core, on_tpu):
    """Returns the `StepShape` that formulas take.

    Args:
        run: `RunSettings`.
        core: `CoreShape`.
        on_tpu: bool. Where attention may be one kernel that keeps no scores.
    """
    arguments = run.backbone
    head_dim = arguments["hidden_dim"] // arguments["num_heads"]
    has_kernel = on_tpu and fits_tpu_kernel(
        core.sequence_length, arguments["num_heads"], head_dim
    )
    drops = arguments.get("attention_dropout", 0.0) > 0
    return StepShape(
        arguments,
        core.batch_size,
        core.sequence_length,
        default_num_predictions(core.sequence_length),
        keeps_scores=drops or not has_kernel,
        active_layers=core.num_layers,
    )
