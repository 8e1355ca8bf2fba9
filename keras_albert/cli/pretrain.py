"""`keras-albert pretrain`: MLM and SOP from text files."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption
from keras_albert.cli.options import Dtype
from keras_albert.cli.options import SeedOption

DATA = "Text"
MODEL = "Model"
RECIPE = "Training"
MEMORY = "Memory and speed"
DEVICES = "Devices and machines"
EVALUATION = "Evaluation, checkpoints, logs"


class Optimizer(enum.StrEnum):
    """Optimizers of a pretraining run."""

    adamw = "adamw"
    lamb = "lamb"


class RecipeName(enum.StrEnum):
    """Where the figures of a run come from."""

    published = "published"
    small = "small"


class DistributionName(enum.StrEnum):
    """Ways to use several devices, see `training.distribute`."""

    auto = "auto"
    none = "none"
    mirrored = "mirrored"
    multi_worker = "multi_worker"
    tpu = "tpu"
    data_parallel = "data_parallel"
    model_parallel = "model_parallel"


class Objective(enum.StrEnum):
    """What the second head learns."""

    sop = "sop"
    nsp = "nsp"
    none = "none"


def pretrain(
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            rich_help_panel=DATA,
            help="Text (a blank line ends a document) or JSON lines with a "
            "`text` field; .gz of both; quoted patterns work too.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=DATA,
            help="A SentencePiece .model, a WordPiece vocab.txt or the folder "
            "of a model.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=DATA,
            help="What `keras-albert prepare` wrote, instead of --corpus and "
            "--tokenizer; one folder for each sequence length.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            help="Folder for model, curves, logs and checkpoints; the same "
            "command goes on from where it was stopped."
        ),
    ] = Path("pretrained"),
    size: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=MODEL,
            help="A published size, see `keras-albert sizes`. "
            "[dim]default: a small one for CPUs[/]",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=MODEL,
            help="YAML or JSON with the arguments of `AlbertBackbone`, "
            "instead of --size.",
        ),
    ] = None,
    recipe: Annotated[
        RecipeName | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="published: LAMB, and rate, warm-up and steps that follow "
            "from --batch-size for the published number of examples; small: "
            "AdamW, 5000 steps. "
            "[dim]default: published with --size and without --steps[/]",
        ),
    ] = None,
    batch_size: Annotated[
        int,
        typer.Option(
            rich_help_panel=RECIPE, help="Examples of an optimizer update."
        ),
    ] = 32,
    steps: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Optimizer updates. [dim]default: the recipe's[/]",
        ),
    ] = None,
    sequence_length: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Tokens of an example. "
            "[dim]default: that of --data, or 128[/]",
        ),
    ] = None,
    phases: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH:SHARE%,…",
            rich_help_panel=RECIPE,
            help="Lengths one after the other, such as 128@2:60%,512x8:40% "
            "(@2: two layer calls, x8: batches of 8), or in turn: "
            "96x32+384x8:100%. "
            "[dim]default: --sequence-length throughout[/]",
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="LAMB is for batches of hundreds and more. "
            "[dim]default: the recipe's[/]",
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Peak rate. [dim]default: fits optimizer, batch and width[/]",
        ),
    ] = None,
    warmup_steps: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Steps up to the peak. [dim]default: 2.5 % of them as "
            "published, 5 % in a small run[/]",
        ),
    ] = None,
    clip_norm: Annotated[
        float,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Norm to which larger gradients are scaled down; 0 leaves "
            "them.",
        ),
    ] = 1.0,
    ema_momentum: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Average the weights, keeping this share of the average at "
            "each step (0.999 is usual); the average is evaluated and saved. "
            "[dim]default: the last weights[/]",
        ),
    ] = None,
    objective: Annotated[
        Objective,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Sentence order, next sentence, or MLM alone.",
        ),
    ] = Objective.sop,
    sentence_order_weight: Annotated[
        float,
        typer.Option(
            rich_help_panel=RECIPE,
            help="Weight of the sentence-order loss.",
        ),
    ] = 1.0,
    accumulate: Annotated[
        int,
        typer.Option(
            rich_help_panel=MEMORY,
            help="Compute each batch in this many parts; same result, less "
            "memory.",
        ),
    ] = 1,
    remat: Annotated[
        bool | None,
        typer.Option(
            "--remat/--no-remat",
            rich_help_panel=MEMORY,
            help="Compute activations again in the backward pass: less "
            "memory, a third more time. On JAX's CPUs together with --loop. "
            "[dim]default: as configured[/]",
        ),
    ] = None,
    unroll: Annotated[
        bool | None,
        typer.Option(
            "--unroll/--loop",
            rich_help_panel=MEMORY,
            help="Compile each layer call, or one for all, which compiles "
            "sooner. [dim]default: as configured[/]",
        ),
    ] = None,
    distribution: Annotated[
        DistributionName,
        typer.Option(
            rich_help_panel=DEVICES,
            help="TensorFlow has mirrored, multi_worker and tpu, JAX "
            "data_parallel and model_parallel. auto: the cluster that the "
            "environment names, else all GPUs or TPU cores.",
        ),
    ] = DistributionName.auto,
    model_shards: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=DEVICES,
            help="Devices that share a copy of the model. "
            "[dim]with model_parallel; default: all of a process[/]",
        ),
    ] = None,
    dtype: Annotated[
        Dtype | None,
        typer.Option(
            rich_help_panel=MEMORY,
            help="Precision; float16 scales the loss. [dim]default: float32[/]",
        ),
    ] = None,
    evaluation_corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            rich_help_panel=EVALUATION,
            help="Held-out text. [dim]default: a share of the corpus[/]",
        ),
    ] = None,
    evaluation_data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=EVALUATION,
            help="Held-out text, prepared. [dim]default: a share of --data[/]",
        ),
    ] = None,
    held_out_share: Annotated[
        float,
        typer.Option(
            rich_help_panel=EVALUATION,
            help="Share of documents or shards held out.",
        ),
    ] = 0.02,
    evaluation_every: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=EVALUATION,
            help="Steps between evaluations. "
            "[dim]default: a tenth, at most 1000[/]",
        ),
    ] = None,
    evaluation_passes: Annotated[
        int,
        typer.Option(
            rich_help_panel=EVALUATION,
            help="Cuts of the held-out text into pairs; more of them make the "
            "sentence-order accuracy less noisy.",
        ),
    ] = 1,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=EVALUATION,
            help="Steps between checkpoints, beside one at each evaluation.",
        ),
    ] = None,
    tensorboard: Annotated[
        bool,
        typer.Option(
            "--tensorboard",
            rich_help_panel=EVALUATION,
            help="Write OUTPUT/tensorboard, beside OUTPUT/steps.jsonl.",
        ),
    ] = False,
    seed: SeedOption = 0,
    backend: BackendOption = None,
):
    """Pretrain an ALBERT with masked words and sentence order.

    On several machines, run the same line on each, with --output on a file
    system that all of them see. With TensorFlow, index counts the machines:

    TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:5000", "10.0.0.2:5000"]},
    "task": {"type": "worker", "index": 0}}' keras-albert pretrain
    --backend tensorflow --distribution multi_worker …

    With JAX, the process id does:

    KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:5000
    KERAS_DISTRIBUTION_NUM_PROCESSES=2 KERAS_DISTRIBUTION_PROCESS_ID=0
    keras-albert pretrain --backend jax --distribution data_parallel …

    On all workers of a slice of TPU VMs, which know each other:

    KERAS_DISTRIBUTION_NUM_PROCESSES=auto
    keras-albert pretrain --backend jax --distribution data_parallel …
    """
    if not data and not (corpus and tokenizer):
        raise typer.BadParameter(
            "Give --corpus and --tokenizer, or --data with what "
            "`keras-albert prepare` wrote."
        )
    from keras_albert import training
    from keras_albert.cli import show

    with show.progress_bars() as progress:
        result = training.pretrain(
            corpus=corpus or None,
            tokenizer=tokenizer,
            data=data or None,
            output=output,
            steps=steps,
            size=size,
            config=config,
            recipe=None if recipe is None else str(recipe),
            batch_size=batch_size,
            accumulate=accumulate,
            sequence_length=sequence_length,
            phases=phases,
            optimizer=None if optimizer is None else str(optimizer),
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            clip_norm=clip_norm,
            ema_momentum=ema_momentum,
            objective=str(objective),
            sentence_order_weight=sentence_order_weight,
            evaluation_corpus=evaluation_corpus or None,
            evaluation_data=evaluation_data or None,
            held_out_share=held_out_share,
            evaluation_every=evaluation_every,
            evaluation_passes=evaluation_passes,
            checkpoint_every=checkpoint_every,
            dtype=None if dtype is None else str(dtype),
            unroll=unroll,
            distribution=str(distribution),
            model_shards=model_shards,
            remat=remat,
            seed=seed,
            tensorboard=tensorboard,
            progress=progress,
        )
    if result.is_chief:
        report(result, show.console())


def report(result, console):
    """Shows the curves as a table, the floors, and where the files are."""
    from keras_albert.cli import show
    from keras_albert.training.curves import curves_table

    console.print(show.table(None, *curves_table(result.history)))
    loss = result.final["val_masked_lm_loss"]
    console.print(floor_sentence(loss, result.masked_lm_floor))
    if "val_sentence_order_accuracy" in result.final:
        accuracy = result.final["val_sentence_order_accuracy"]
        console.print(
            f"Sentence order right in {show.percent(accuracy)}; chance is 50 %."
        )
    console.print(
        f"{show.number(result.num_parameters)} weights, "
        f"{show.number(result.num_train_tokens)} tokens of text, "
        f"{show.duration(result.seconds)}."
    )
    console.print(f"Model:  {result.preset}\nCurves: {result.curves}")
    console.print(
        f"Next:   keras-albert finetune --model {result.preset} "
        "--train labelled.tsv"
    )


def floor_sentence(loss, floor):
    """Says what a model knows beyond token frequencies.

    Args:
        loss: float. Its masked-LM loss on held-out text, in nats.
        floor: float. That of guessing by token frequency.
    """
    beside = (
        f"MLM loss on held-out text {loss:.3f}; guessing by token frequency "
        f"gives {floor:.3f}, so the model "
    )
    if loss < floor:
        return f"{beside}gains {floor - loss:.3f} nats."
    return (
        f"{beside}knows nothing beyond that yet. Train it for more steps, or "
        "at another rate."
    )
