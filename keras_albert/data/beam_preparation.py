"""Prepares a corpus on a cluster, with Apache Beam.

The process that starts the pipeline writes the manifest when all shards are
there. Every step is a function of the plain preparation, and a document's
shard and chunks depend on its text and the settings alone. So the shards have
the same bytes, whatever runner does the work and in whatever order. Files are
read and written by Beam, so that they may lie wherever the runner's workers
can reach.
"""

import dataclasses
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options import SetupOptions

from keras_albert.data.beam_files import describe_files
from keras_albert.data.beam_files import read_file
from keras_albert.data.beam_files import write_file
from keras_albert.data.beam_pipeline import BeamJob
from keras_albert.data.beam_pipeline import build_pipeline
from keras_albert.data.beam_pipeline import read_result
from keras_albert.data.corpus_units import GZIP_RATIO
from keras_albert.data.corpus_units import default_num_shards
from keras_albert.data.document_tokenizing import check_word_segmenter
from keras_albert.data.preparation_checks import PreparedCorpus
from keras_albert.data.preparation_checks import check_arguments
from keras_albert.data.preparation_checks import check_totals
from keras_albert.data.preparation_checks import make_manifest
from keras_albert.data.preparation_folder import SETTINGS_FILE
from keras_albert.data.preparation_folder import check_same_settings
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shards import MANIFEST_FILE
from keras_albert.data.shards import TOKEN_COUNTS_FILE
from keras_albert.data.shards import parse_manifest
from keras_albert.data.stored_tokenizer import StoredTokenizer


def prepare_with_beam(
    corpus: str | Path | Sequence[str | Path],
    tokenizer,
    output: str | Path,
    *,
    sequence_length: int = 512,
    short_sequence_probability: float = 0.1,
    seed: int = 0,
    num_shards: int | None = None,
    word_segmenter: str | None = None,
    text_field: str = "text",
    allow_single_sentences: bool = False,
    overwrite: bool = False,
    pipeline_options: Sequence[str] = (),
) -> PreparedCorpus:
    """Prepares a corpus on the runner of an Apache Beam pipeline.

    The shards are those of `prepare_corpus`, byte for byte. A file is read by
    one worker: a corpus of many files is read by many. A pipeline that failed
    begins anew; retries of single steps are the runner's.

    Args:
        corpus: paths or patterns in the notation of Beam's file systems.
        tokenizer: path of a vocabulary or preset, or a tokenizer.
        output: string or path, local or of one of Beam's file systems.
        sequence_length: int. As in `prepare_corpus`, like all others.
        short_sequence_probability: float.
        seed: int.
        num_shards: int.
        word_segmenter: string.
        text_field: string.
        allow_single_sentences: bool.
        overwrite: bool.
        pipeline_options: sequence of strings. Beam's own options, such as
            `"--runner=FlinkRunner"`. Defaults to none: Beam's local runner.

    Returns:
        `PreparedCorpus`.

    Raises:
        ChildProcessError: if the pipeline failed.
        FileExistsError: if `output` holds data of other settings.
        FileNotFoundError: if a pattern matches nothing.
        ValueError: if an argument is out of range, or the corpus cannot teach
            what it is for.

    Example:

    ```python
    from keras_albert.data.beam_preparation import prepare_with_beam

    prepare_with_beam(
        "gs://bucket/corpus/*.txt.gz",
        "spiece.model",
        "gs://bucket/prepared",
        pipeline_options=["--runner=DataflowRunner", "--project=…"],
    )
    ```
    """
    started = time.monotonic()
    check_arguments(sequence_length, short_sequence_probability, 0, num_shards)
    check_word_segmenter(word_segmenter)
    options = _pipeline_options(pipeline_options)
    patterns = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    patterns = [str(pattern) for pattern in patterns]
    files = describe_files(patterns)
    stored = StoredTokenizer(tokenizer)
    if num_shards is None:
        num_shards = default_num_shards(_guess_text_bytes(files))
    job = BeamJob(
        output=str(output),
        encoder_config=stored.encoder.config(),
        vocabulary_size=stored.encoder.vocabulary_size(),
        word_segmenter=word_segmenter,
        text_field=text_field,
        num_shards=num_shards,
        chunks=ChunkSettings(sequence_length, short_sequence_probability, seed),
    )
    settings = {
        **dataclasses.asdict(job.chunks),
        "num_shards": num_shards,
        "word_segmenter": word_segmenter,
        "tokenizer_fingerprint": stored.encoder.fingerprint(),
        "text_field": text_field,
        "corpus": files,
    }
    manifest = _complete_manifest(job.output, settings, overwrite)
    was_complete = manifest is not None
    if not was_complete:
        _begin(job.output, settings)
        _run(job, patterns, options)
        contents, totals = read_result(job.output)
        check_totals(totals, allow_single_sentences)
        manifest = _finish(job, stored, contents, totals)
    seconds = time.monotonic() - started
    return PreparedCorpus(job.output, manifest, seconds, was_complete)


def _pipeline_options(arguments):
    options = PipelineOptions(list(arguments))
    options.view_as(SetupOptions).save_main_session = False
    return options


def _run(job, patterns, options):
    pipeline = beam.Pipeline(options=options)
    build_pipeline(pipeline, job, patterns)
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:  # each runner has its own
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else type(error).__name__
        raise ChildProcessError(
            f"The Beam pipeline failed: {reason}"
        ) from error


def _guess_text_bytes(files):
    return sum(
        row["bytes"] * (GZIP_RATIO if row["path"].endswith(".gz") else 1)
        for row in files
    )


def _complete_manifest(output, settings, overwrite):
    """The manifest of a folder in which nothing is left to do, or `None`."""
    settings_path = FileSystems.join(output, SETTINGS_FILE)
    manifest_path = FileSystems.join(output, MANIFEST_FILE)
    is_complete = FileSystems.exists(manifest_path)
    is_ours = FileSystems.exists(settings_path)
    if is_complete and not is_ours:
        raise FileExistsError(
            f"The output {output} holds a {MANIFEST_FILE} of something else. "
            "Name a new folder."
        )
    if overwrite or not is_ours:
        return None
    before = json.loads(read_file(settings_path))
    now = json.loads(json.dumps(settings))
    check_same_settings(before, now, output, is_complete)
    if not is_complete:
        return None
    return parse_manifest(read_file(manifest_path), manifest_path)


def _begin(output, settings):
    if not FileSystems.exists(output):
        FileSystems.mkdirs(output)
    manifest = FileSystems.join(output, MANIFEST_FILE)
    if FileSystems.exists(manifest):
        FileSystems.delete([manifest])
    (shards,) = FileSystems.match([FileSystems.join(output, "shard-*")])
    stale = [metadata.path for metadata in shards.metadata_list]
    if stale:
        FileSystems.delete(stale)
    write_file(output, SETTINGS_FILE, json.dumps(settings, indent=2).encode())


def _finish(job, stored, contents, totals):
    """Writes what belongs to all shards; the manifest is last."""
    with tempfile.TemporaryDirectory() as folder:
        name = stored.write(folder)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                relative = path.relative_to(folder).as_posix()
                write_file(job.output, relative, path.read_bytes())
        counts = Path(folder) / TOKEN_COUNTS_FILE
        np.save(counts, sum(content.token_counts for content in contents))
        write_file(job.output, TOKEN_COUNTS_FILE, counts.read_bytes())
    manifest = make_manifest(
        job.chunks, stored.encoder, name, job.word_segmenter, contents, totals
    )
    write_file(job.output, MANIFEST_FILE, manifest.to_json().encode())
    return manifest
