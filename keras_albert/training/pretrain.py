"""A whole pretraining run: text in, preset, curves and checkpoints out.

documents ─┬─ train ──── tokens ── batches ─┐
           └─ held out ─ tokens ── batches ─┤  per phase
config ──── AlbertPretrainer.fit ───────────┴─ history, curves, preset
"""

import time

from keras_albert.training.distribution import distribute
from keras_albert.training.pretrain_result import PretrainResult
from keras_albert.training.run_evaluation import RunEvaluation
from keras_albert.training.run_folder import check_run_folder
from keras_albert.training.run_loop import restore_run
from keras_albert.training.run_loop import save_model
from keras_albert.training.run_loop import train
from keras_albert.training.run_model import make_run_model
from keras_albert.training.run_processes import check_devices
from keras_albert.training.run_processes import check_same_settings
from keras_albert.training.run_processes import check_same_start
from keras_albert.training.run_processes import claim_together
from keras_albert.training.run_processes import own_folder
from keras_albert.training.run_processes import ready_together
from keras_albert.training.run_reports import list_callbacks
from keras_albert.training.run_reports import make_callbacks
from keras_albert.training.run_reports import report_damage
from keras_albert.training.run_reports import report_shared_text
from keras_albert.training.run_reports import show_recipe
from keras_albert.training.run_settings import resolve_settings
from keras_albert.training.run_sources import choose_sources
from keras_albert.training.setting_checks import check_path
from keras_albert.training.setting_checks import plain_values
from keras_albert.training.wait_clock import WaitClock


def pretrain(
    *,
    corpus=None,
    tokenizer=None,
    data=None,
    output,
    steps=None,
    size=None,
    config=None,
    recipe=None,
    batch_size=32,
    accumulate=1,
    sequence_length=None,
    phases=None,
    optimizer=None,
    learning_rate=None,
    warmup_steps=None,
    weight_decay=0.01,
    clip_norm=1.0,
    ema_momentum=None,
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
    unroll=None,
    remat=None,
    jit_compile="auto",
    distribution="auto",
    model_shards=None,
    seed=0,
    tensorboard=False,
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
        steps: int. Optimizer updates. Defaults to the recipe's.
        size: string, optional. A key of `models.sizes.SIZES`.
        config: `AlbertConfig`, dict or path of a YAML or JSON file, optional.
            Without `size` and `config` the model is `small_config()`.
        recipe: string. `"published"`: LAMB, with rate, warm-up and steps that
            follow from `batch_size` for the published number of examples.
            `"small"`: AdamW and 5000 steps, for hours on one machine. Defaults
            to `"published"` for a `size` without `steps`, else to `"small"`.
            What was derived is shown by `progress` and told in the result.
        batch_size: int. Examples of an update. Defaults to `32`.
        accumulate: int. Parts in which a batch is computed, to need less
            memory: each part has `batch_size / accumulate` examples. The loss
            of an update is the mean over all targets of the whole batch, as
            without parts; only dropout draws otherwise, and Keras averages
            the parts' gradients before it clips them. Defaults to `1`.
        sequence_length: int. Defaults to that of `data`, or `128`.
        phases: list of `Phase`, or a string such as `"128:90%,512:10%"`,
            optional. Takes the place of `sequence_length`; each phase is
            evaluated at its own length and depth. The steps of
            `"96x32+384x8:100%"` take turns, and it is evaluated at the last
            of its lengths. The last phase must have the model's own depth.
        optimizer: string. `"adamw"` or `"lamb"`; LAMB is for batches of
            hundreds and more. Defaults to the recipe's.
        learning_rate: float. The peak; defaults to `pretraining_rate`.
        warmup_steps: int. Defaults to a share of `steps`: 2.5 % as published,
            5 % in a small run.
        weight_decay: float. Defaults to `0.01`.
        clip_norm: float. Norm over all gradients, to which larger ones are
            scaled down; 0 or `None` leaves them. Defaults to `1.0`, as
            published.
        ema_momentum: float, optional. Keeps an average of the weights over
            the updates, of which this share stays at each; evaluations and
            the finished model use the average. `0.999` is usual.
        objective: string. `"sop"`, `"nsp"` or `"none"`; see
            `data.plan_segment_pairs`. Defaults to `"sop"`.
        sentence_order_weight: float. Weight of the sentence-order loss beside
            the masked-LM loss. Defaults to `1.0`, as published.
        evaluation_corpus: files or documents to evaluate on, optional. Without
            it, a share of the documents is held out.
        evaluation_data: prepared folders to evaluate on, optional. Without
            them, a share of the shards is held out.
        held_out_share: float. Share of documents or shards never seen in
            training, at least one; for `"nsp"`, at least two documents.
            Defaults to `0.02`.
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
        unroll: bool, optional. `False` compiles the layer once, whatever the
            depth. Defaults to the configuration's.
        remat: bool, optional. `True` computes activations again in the
            backward pass instead of keeping them. Defaults to the
            configuration's.
        jit_compile: bool or `"auto"`, as in `keras.Model.compile`. `False`
            starts sooner and steps slower on TensorFlow. Defaults to `"auto"`,
            which is `False` on its CPUs; there GELU of wide layers is compiled
            in any case.
        distribution: string. How to use several devices and machines, see
            `distribute`. Defaults to `"auto"`: all that the backend can use.
        model_shards: int, optional. With `"model_parallel"`: devices that
            share one copy of the model.
        seed: int. Defaults to `0`.
        tensorboard: bool. Whether to write `output/tensorboard` too. Defaults
            to `False`.
        progress: `rich.progress.Progress`, optional. Bars are added to it; the
            caller shows it.
        callbacks: list of further Keras callbacks, optional.

    Returns:
        `PretrainResult`.

    Raises:
        ValueError, TypeError, FileNotFoundError, FileExistsError: before any
            work, for what does not fit together.
        ConnectionAbortedError: if another process of the run cannot start.
        ConnectionResetError: if another process of the run dies.
    """
    began = time.monotonic()
    # TensorFlow connects workers before its first operation only.
    distribution = distribute(distribution, model_shards=model_shards)
    if progress is not None:
        progress = _own_progress(progress, distribution)
    with ready_together(distribution):
        check_path(output=output)
        callbacks = list_callbacks(callbacks)
        sources = choose_sources(
            corpus=corpus,
            tokenizer=tokenizer,
            data=data,
            evaluation_corpus=evaluation_corpus,
            evaluation_data=evaluation_data,
            **plain_values(held_out_share=held_out_share),
            word_segmenter=word_segmenter,
        )
        settings = resolve_settings(
            sources,
            **plain_values(
                recipe=recipe,
                steps=steps,
                size=size,
                config=config,
                batch_size=batch_size,
                accumulate=accumulate,
                sequence_length=sequence_length,
                phases=phases,
                optimizer=optimizer,
                learning_rate=learning_rate,
                warmup_steps=warmup_steps,
                weight_decay=weight_decay,
                clip_norm=clip_norm,
                ema_momentum=ema_momentum,
                dtype=dtype,
                unroll=unroll,
                remat=remat,
                objective=objective,
                sentence_order_weight=sentence_order_weight,
                seed=seed,
                evaluation_every=evaluation_every,
                evaluation_passes=evaluation_passes,
                checkpoint_every=checkpoint_every,
                jit_compile=jit_compile,
                tensorboard=tensorboard,
            ),
        )
        described = {**settings.describe(), **sources.describe()}
    check_same_settings(distribution, described)
    with ready_together(distribution):
        check_devices(
            distribution,
            settings,
            output,
            read=[
                *(described["corpus"] or ()),
                *(described["evaluation_corpus"] or ()),
            ],
        )
        sources.read()
        check_run_folder(output, described, unread=["text"])
        run_data = sources.load(progress)
        described["text"] = run_data.text_fingerprints()
        # Made before the first step: what is wrong with the text is said here.
        evaluation = RunEvaluation(run_data, settings.spans)
    # Claimed only now: a corpus that will not do leaves no folder behind.
    folder = claim_together(distribution, output, described)

    if progress is not None:
        show_recipe(settings.recipe, progress.console)

    with (
        distribution.watch_processes(),
        distribution.scope(),
        own_folder(distribution, folder) as own,
    ):
        model = make_run_model(settings, run_data.tokenizer)
        record = restore_run(model, folder, tidies=distribution.is_chief)
        is_done = record.start_step >= settings.steps and folder.preset.is_dir()
        check_same_start(distribution, record.start_step)
        report_damage(record, own, progress)
        report_shared_text(described, record, own, progress)
        clock = WaitClock()
        made = make_callbacks(
            settings,
            evaluation,
            own,
            record,
            progress,
            clock,
            distribution,
            folder.checkpoints,
        )
        train(
            model,
            settings,
            run_data,
            evaluation,
            [*made, *callbacks],
            record,
            clock,
            distribution,
        )
        if not is_done:
            save_model(model, own, distribution)
        # Whoever returns may rely on what the chief wrote.
        distribution.gather(0)
    return PretrainResult(
        history=record.history,
        masked_lm_floor=evaluation.masked_lm_floor,
        masked_lm_accuracy_floor=evaluation.masked_lm_accuracy_floor,
        preset=folder.preset,
        curves=folder.curves,
        history_file=folder.history,
        steps_file=folder.steps,
        resumed_from=record.start_step,
        num_train_documents=run_data.num_train_documents,
        num_evaluation_documents=run_data.num_evaluation_documents,
        num_train_tokens=run_data.num_train_tokens,
        num_parameters=model.count_params(),
        learning_rate=settings.optimizer["peak_rate"],
        recipe=settings.recipe,
        alarms=record.alarms,
        seconds=time.monotonic() - began,
        is_chief=distribution.is_chief,
    )


def _own_progress(progress, distribution):
    """Returns the progress that this process shows: of several, one does."""
    if distribution.is_chief:
        return progress
    progress.console.print(
        f"Process {distribution.process_index} of "
        f"{distribution.num_processes}; process 0 shows and writes the run.",
        style="dim",
        highlight=False,
    )
    return None
