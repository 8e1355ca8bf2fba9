"""A whole pretraining run: text in, preset, curves and checkpoints out.

documents ─┬─ train ──── tokens ── batches ─┐
           └─ held out ─ tokens ── batches ─┤  per phase
config ──── AlbertPretrainer.fit ───────────┴─ history, curves, preset
"""

import dataclasses
import functools
import time
from pathlib import Path

import numpy as np

from keras_albert.data.shards import read_manifest
from keras_albert.data.whole_files import replace_atomically
from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.config import AlbertConfig
from keras_albert.models.loading import load_model
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.sizes import backbone_arguments
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.training import callbacks as run_callbacks
from keras_albert.training.curves import plot_curves
from keras_albert.training.curves import read_history
from keras_albert.training.curves import write_history
from keras_albert.training.depth import set_active_layers
from keras_albert.training.floors import unigram_accuracy
from keras_albert.training.floors import unigram_cross_entropy
from keras_albert.training.phases import Phase
from keras_albert.training.phases import parse_phases
from keras_albert.training.phases import phase_spans
from keras_albert.training.recipes import OPTIMIZERS
from keras_albert.training.recipes import make_optimizer
from keras_albert.training.recipes import pretraining_rate
from keras_albert.training.recipes import small_config
from keras_albert.training.run_data import BatchSettings
from keras_albert.training.run_data import as_folders
from keras_albert.training.run_data import describe_corpus
from keras_albert.training.run_data import folder_fingerprints
from keras_albert.training.run_data import open_folders
from keras_albert.training.run_data import read_text
from keras_albert.training.run_data import tokenize_text
from keras_albert.training.run_folder import check_run_folder
from keras_albert.training.run_folder import claim_run_folder
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights
from keras_albert.training.watchdog import Watchdog
from keras_albert.training.watchdog import read_alarms
from keras_albert.training.watchdog import write_alarms


@dataclasses.dataclass(frozen=True)
class PretrainResult:
    """What a pretraining run left behind.

    Attributes:
        history: list of records, one per evaluation; see `training.curves`.
        masked_lm_floor: float. Nats per held-out target of guessing by token
            frequency alone; compare `val_masked_lm_loss`.
        masked_lm_accuracy_floor: float. The same for the accuracy.
        preset: path of the folder with backbone, heads and tokenizer.
        curves: path of the picture.
        history_file: path of the records.
        resumed_from: int. The step this call started at; 0 for a new run.
        num_train_documents, num_evaluation_documents: int; `None` where
            shards were held out.
        num_train_tokens: int. Tokens of the training text, one pass.
        num_parameters: int. Weights of the model, heads included.
        learning_rate: float. The peak rate.
        alarms: list of `watchdog.Alarm`, of this call and of earlier ones.
        seconds: float. Wall time of this call.
    """

    history: list
    masked_lm_floor: float
    masked_lm_accuracy_floor: float
    preset: Path
    curves: Path
    history_file: Path
    resumed_from: int
    num_train_documents: int | None
    num_evaluation_documents: int | None
    num_train_tokens: int
    num_parameters: int
    learning_rate: float
    alarms: list
    seconds: float

    @property
    def final(self):
        """The last record of the history."""
        return self.history[-1]


def pretrain(
    *,
    corpus=None,
    tokenizer=None,
    data=None,
    output,
    steps,
    size=None,
    config=None,
    batch_size=32,
    sequence_length=None,
    phases=None,
    optimizer="adamw",
    learning_rate=None,
    warmup_steps=None,
    weight_decay=0.01,
    objective="sop",
    sentence_order_weight=1.0,
    evaluation_corpus=None,
    evaluation_data=None,
    held_out_share=0.02,
    evaluation_every=None,
    evaluation_passes=1,
    checkpoint_every=None,
    word_segmenter=None,
    dtype=None,
    jit_compile="auto",
    seed=0,
    progress=None,
    callbacks=(),
):
    """Pretrains an ALBERT from text, and continues an interrupted run.

    The same call with the same `output` goes on from the last checkpoint, at
    the same place in the data; after a finished run it only reads the result.
    Ctrl-C finishes the running step, saves, and raises `TrainingInterrupted`.

    Starting weights, dropout, data and masks follow from `seed`, and are the
    same on every backend.

    Args:
        corpus: files, as for `data.read_documents`, or an iterable of
            documents, each a list of lines. The text is held in memory as
            token ids.
        tokenizer: a tokenizer or the path of one.
        data: path of a folder that `data.prepare_corpus` wrote, or a list of
            them with one for each sequence length. Takes the place of
            `corpus` and `tokenizer`, and may be larger than memory.
        output: string or path. A new or empty folder, or this run's own.
        steps: int. Optimizer updates.
        size: string, optional. A key of `models.sizes.SIZES`.
        config: `AlbertConfig`, dict or path of a YAML or JSON file, optional.
            Without `size` and `config` the model is `small_config()`.
        batch_size: int. Defaults to `32`.
        sequence_length: int. Defaults to that of `data`, or `128`.
        phases: list of `Phase`, or a string such as `"128:90%,512:10%"`,
            optional. Takes the place of `sequence_length`; each phase is
            evaluated at its own length and depth. The last phase must have
            the model's own depth.
        optimizer: string. `"adamw"` or `"lamb"`; LAMB is for batches of
            hundreds and more. Defaults to `"adamw"`.
        learning_rate: float. The peak; defaults to `pretraining_rate`.
        warmup_steps: int. Defaults to a twentieth of `steps`.
        weight_decay: float. Defaults to `0.01`.
        objective: string. `"sop"`, `"nsp"` or `"none"`; see
            `data.plan_segment_pairs`. Defaults to `"sop"`.
        sentence_order_weight: float. Weight of the sentence-order loss beside
            the masked-LM loss. Defaults to `1.0`, as published.
        evaluation_corpus: files or documents to evaluate on, optional. Without
            it, a share of the documents is held out.
        evaluation_data: prepared folders to evaluate on, optional. Without
            them, a share of the shards is held out.
        held_out_share: float. Share of documents or shards never seen in
            training, at least one. Defaults to `0.02`.
        evaluation_every: int. Steps between evaluations; defaults to a tenth
            of `steps`, at most 1000.
        evaluation_passes: int. How often the held-out text is cut into pairs
            anew; more passes make the sentence-order accuracy on little text
            less noisy. Defaults to `1`.
        checkpoint_every: int, optional. Steps between checkpoints; there is
            one at every evaluation anyway.
        word_segmenter: function from a sentence to its words, optional; for
            whole-word masks in a language without spaces.
        dtype: string, optional. `"float32"`, `"mixed_bfloat16"` or
            `"mixed_float16"`. Defaults to the configuration's.
        jit_compile: bool or `"auto"`, as in `keras.Model.compile`. `False`
            starts sooner and steps slower on TensorFlow. Defaults to `"auto"`.
        seed: int. Defaults to `0`.
        progress: `rich.progress.Progress`, optional. Bars are added to it; the
            caller shows it.
        callbacks: further Keras callbacks.

    Returns:
        `PretrainResult`.

    Raises:
        ValueError, TypeError, FileNotFoundError, FileExistsError: before any
            work, for what does not fit together.
    """
    began = time.monotonic()
    _check_counts(
        steps=steps,
        batch_size=batch_size,
        evaluation_every=evaluation_every,
        checkpoint_every=checkpoint_every,
        evaluation_passes=evaluation_passes,
    )
    _check_sources(corpus, tokenizer, data, evaluation_corpus, evaluation_data)
    if phases is None:
        phases = [Phase(sequence_length or _default_length(data))]
    elif isinstance(phases, str):
        phases = parse_phases(phases)
    spans = phase_spans(phases, steps, batch_size)
    longest = max(span.sequence_length for span in spans)
    if optimizer not in OPTIMIZERS:
        make_optimizer(optimizer, 0.0, steps=steps)  # raises what is wrong
    batch_settings = BatchSettings(objective, seed, evaluation_passes)
    if data is not None:
        run_data = open_folders(
            as_folders(data),
            None if evaluation_data is None else as_folders(evaluation_data),
            held_out_share,
            spans,
            batch_settings,
        )
        tokenizer = run_data.tokenizer
    elif not hasattr(tokenizer, "encode_batch"):
        tokenizer = load_tokenizer(tokenizer)
    arguments = _backbone_arguments(
        size, config, tokenizer.vocabulary_size(), dtype
    )
    _check_sizes(arguments, longest)
    _check_depths(arguments, spans)
    if learning_rate is None:
        learning_rate = pretraining_rate(
            optimizer, batch_size, arguments["hidden_dim"]
        )
    optimizer_arguments = {
        "name": optimizer,
        "peak_rate": learning_rate,
        "steps": steps,
        "warmup_steps": warmup_steps,
        "weight_decay": weight_decay,
    }
    make_optimizer(**optimizer_arguments)
    if evaluation_every is None:
        evaluation_every = max(1, min(1000, steps // 10))
    if data is None:
        text = read_text(corpus, evaluation_corpus, held_out_share, seed)
    settings = {
        **{f"model.{k}": v for k, v in arguments.items()},
        **{f"optimizer.{k}": v for k, v in optimizer_arguments.items()},
        "phases": [dataclasses.asdict(span) for span in spans],
        "objective": objective,
        "sentence_order_weight": sentence_order_weight,
        "seed": seed,
        "corpus": describe_corpus(corpus if data is None else data),
        "evaluation_corpus": describe_corpus(
            evaluation_corpus if data is None else evaluation_data
        ),
        "data": folder_fingerprints(data),
        "evaluation_data": folder_fingerprints(evaluation_data),
        "held_out_share": held_out_share,
        "evaluation_every": evaluation_every,
        "evaluation_passes": evaluation_passes,
        "tokenizer": tokenizer.fingerprint(),
    }
    check_run_folder(output, settings)

    if data is None:
        run_data = tokenize_text(
            *text, tokenizer, batch_settings, word_segmenter, progress
        )
    # Made before the first step: what is wrong with the text is said here.
    evaluations = [run_data.evaluation(span) for span in spans]
    masked_lm_floor, accuracy_floor = _masked_lm_floors(
        run_data.token_counts, evaluations[-1]
    )
    # Claimed only now: a corpus that will not do leaves no folder behind.
    folder = claim_run_folder(output, settings)

    model = AlbertPretrainer(
        AlbertBackbone(**arguments),
        preprocessor=AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=longest
        ),
    )
    seed_weights(
        model.trainable_variables, seed, model.backbone.initializer_range
    )
    seed_dropout(model, seed)
    model.compile(
        make_optimizer(**optimizer_arguments),
        loss_weights={
            "masked_lm": 1.0,
            "sentence_order": sentence_order_weight,
        },
        jit_compile=jit_compile,
    )
    start_step, checkpoint = run_callbacks.last_checkpoint(folder.checkpoints)
    if checkpoint is not None:
        run_callbacks.restore_checkpoint(model, checkpoint)
    history = _history_until(folder.history, start_step)

    def show(history):
        write_history(history, folder.history)
        write_history(history, folder.history_table)
        plot_curves(history, folder.curves, masked_lm_floor)

    alarms = read_alarms(folder.alarms, start_step)

    def on_alarm(alarm):
        write_alarms(alarms, folder.alarms)
        if progress is not None:
            progress.console.print(
                f"Step {alarm.step}: {alarm.message}", style="yellow"
            )

    watchdog = Watchdog(
        alarms,
        vocabulary_size=tokenizer.vocabulary_size(),
        masked_lm_floor=masked_lm_floor,
        num_pairs=_count_pairs(evaluations[-1]),
        steps=steps,
        warmup_steps=model.optimizer._learning_rate.warmup_steps,
        last_checkpoint=lambda: run_callbacks.last_checkpoint(
            folder.checkpoints
        )[1],
        on_alarm=on_alarm,
        start_step=start_step,
    )
    run = [
        watchdog,
        *_run_callbacks(
            folder,
            history,
            show,
            steps,
            start_step,
            checkpoint_every,
            progress,
        ),
        *callbacks,
    ]
    try:
        for span, evaluation in zip(spans, evaluations, strict=True):
            set_active_layers(
                model, span.num_layers or model.backbone.num_layers
            )
            _fit(
                model,
                functools.partial(run_data.batches, span),
                evaluation,
                run,
                intervals(
                    max(start_step, span.start), span.stop, evaluation_every
                ),
            )
    finally:
        for callback in run:
            if isinstance(callback, run_callbacks.StopOnInterrupt):
                callback.release()
    if start_step < steps or not folder.preset.is_dir():
        with replace_atomically(folder.preset) as temporary:
            model.save_to_preset(str(temporary))
    return PretrainResult(
        history=history,
        masked_lm_floor=masked_lm_floor,
        masked_lm_accuracy_floor=accuracy_floor,
        preset=folder.preset,
        curves=folder.curves,
        history_file=folder.history,
        resumed_from=start_step,
        num_train_documents=run_data.num_train_documents,
        num_evaluation_documents=run_data.num_evaluation_documents,
        num_train_tokens=run_data.num_train_tokens,
        num_parameters=model.count_params(),
        learning_rate=learning_rate,
        alarms=alarms,
        seconds=time.monotonic() - began,
    )


def load_pretrained(result_or_folder):
    """Returns the `AlbertPretrainer` of a finished run.

    Args:
        result_or_folder: `PretrainResult`, or the path of its output folder.
    """
    if isinstance(result_or_folder, PretrainResult):
        return load_model(result_or_folder.preset)
    return load_model(Path(result_or_folder) / "preset")


def intervals(start_step, steps, every):
    """Lists `(first step, steps per interval, intervals)` for `fit`.

    Evaluations fall on the multiples of `every` and on the last step, wherever
    a run starts.

    Example:

    >>> intervals(0, 25, 10)
    [(0, 10, 2), (20, 5, 1)]
    >>> intervals(3, 25, 10)
    [(3, 7, 1), (10, 10, 1), (20, 5, 1)]
    """
    spans = []
    step = start_step
    while step < steps:
        if step % every or steps - step < every:
            length, count = min(every - step % every, steps - step), 1
        else:
            length, count = every, (steps - step) // every
        spans.append((step, length, count))
        step += length * count
    return spans


def _check_sources(corpus, tokenizer, data, evaluation_corpus, evaluation_data):
    text = {
        "corpus": corpus,
        "tokenizer": tokenizer,
        "evaluation_corpus": evaluation_corpus,
    }
    given = [name for name, value in text.items() if value is not None]
    if data is not None and given:
        raise ValueError(
            "Prepared `data` brings its own text and tokenizer. Received also: "
            f"{', '.join(given)}. Leave them out."
        )
    if data is None and evaluation_data is not None:
        raise ValueError(
            "`evaluation_data` goes with `data`. With a corpus, give "
            "`evaluation_corpus`."
        )
    if data is None and (corpus is None or tokenizer is None):
        raise ValueError(
            "Give a `corpus` and a `tokenizer`, or `data` that "
            "`keras-albert prepare` wrote. Received: "
            f"{', '.join(given) or 'neither'}."
        )


def _default_length(data):
    if data is None:
        return 128
    return read_manifest(as_folders(data)[0]).sequence_length


def _check_counts(**counts):
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


def _masked_lm_floors(counts, evaluation):
    targets = np.concatenate(
        [
            targets["masked_lm"][weights["masked_lm"] > 0]
            for _, targets, weights in evaluation.as_numpy_iterator()
        ]
    )
    return (
        unigram_cross_entropy(counts, targets),
        unigram_accuracy(counts, targets),
    )


def _count_pairs(evaluation):
    return sum(
        int((weights["sentence_order"] > 0).sum())
        for _, _, weights in evaluation.as_numpy_iterator()
    )


def _history_until(path, step):
    """Returns the records up to `step`; a crash may have left later ones."""
    if not path.is_file():
        return []
    return [r for r in read_history(path) if r["step"] <= step]


def _run_callbacks(
    folder, history, show, steps, start_step, checkpoint_every, progress
):
    checkpoints = run_callbacks.Checkpoints(
        folder.checkpoints, history, checkpoint_every, start_step=start_step
    )
    made = [
        run_callbacks.HistoryRecorder(history, show, start_step),
        checkpoints,
        run_callbacks.StopOnInterrupt(checkpoints, start_step),
    ]
    if progress is not None:
        bar = run_callbacks.ProgressBar(
            progress, steps, "pretraining", start_step, _describe_logs
        )
        made.insert(0, bar)
    return made


def _fit(model, batches_from, evaluation, callbacks, spans):
    for step, length, count in spans:
        model.fit(
            batches_from(step),
            steps_per_epoch=length,
            epochs=count,
            validation_data=evaluation,
            callbacks=callbacks,
            shuffle=False,  # the dataset is
            verbose=0,
        )


def _describe_logs(logs):
    loss = logs.get("masked_lm_loss", float("nan"))
    order = logs.get("sentence_order_accuracy")
    text = f"MLM loss {loss:.2f}"
    return text if order is None else f"{text}, SOP accuracy {order:.0%}"
