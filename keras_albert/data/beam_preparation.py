"""The preparation of a corpus as an Apache Beam pipeline, for clusters.

    patterns -> files -> batches of documents -> tokenized, split by shard
    -> grouped by shard -> sorted, cut into chunks, written -> counts
    -> manifest.json, written by the process that started the pipeline

Every step is a function of the plain preparation, and a document's shard and
chunks depend on its text alone. So the shards have the same bytes, whatever
runner does the work and in whatever order. Files are read and written by
Beam, so that they may lie wherever the runner's workers can reach.
"""

import dataclasses
import json
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam.io import fileio
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options import SetupOptions

from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus import stream_file
from keras_albert.data.corpus_units import GZIP_RATIO
from keras_albert.data.corpus_units import MAX_DOCUMENT_BYTES
from keras_albert.data.corpus_units import default_num_shards
from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.document_tokenizing import check_word_segmenter
from keras_albert.data.preparation_checks import PreparedCorpus
from keras_albert.data.preparation_checks import check_arguments
from keras_albert.data.preparation_checks import check_totals
from keras_albert.data.preparation_checks import make_manifest
from keras_albert.data.preparation_folder import SETTINGS_FILE
from keras_albert.data.preparation_folder import check_same_settings
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import ShardContent
from keras_albert.data.shard_writing import write_shard
from keras_albert.data.shards import MANIFEST_FILE
from keras_albert.data.shards import TOKEN_COUNTS_FILE
from keras_albert.data.shards import Totals
from keras_albert.data.shards import parse_manifest
from keras_albert.data.shards import shard_name
from keras_albert.data.stored_tokenizer import StoredTokenizer
from keras_albert.data.tokenized_documents import concatenate
from keras_albert.data.tokenized_documents import from_bytes
from keras_albert.data.tokenized_documents import shards_of
from keras_albert.data.tokenized_documents import to_bytes
from keras_albert.tokenizers.encoders import encoder_from_config

_BATCH_CHARACTERS = 1 << 20
_RESULT_FILE = "counted.json"
_TOTALS, _SHARDS = "totals", "shards"


@dataclasses.dataclass(frozen=True)
class BeamJob:
    """What every worker must know."""

    output: str
    encoder_config: dict
    vocabulary_size: int
    word_segmenter: str | None
    text_field: str
    num_shards: int
    chunks: ChunkSettings


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
    files = _describe_files(patterns)
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
        contents, totals = _read_result(job.output)
        check_totals(totals, allow_single_sentences)
        manifest = _finish(job, stored, contents, totals)
    seconds = time.monotonic() - started
    return PreparedCorpus(job.output, manifest, seconds, was_complete)


def build_pipeline(pipeline, job: BeamJob, patterns: list[str]) -> None:
    """Adds all steps up to the file of counts to a pipeline.

    Args:
        pipeline: `apache_beam.Pipeline`.
        job: `BeamJob`.
        patterns: list of strings.
    """
    read = (
        pipeline
        | "Patterns" >> beam.Create(patterns)
        | "Match" >> fileio.MatchAll()
        | "Paths" >> beam.Map(lambda metadata: metadata.path)
        | "Once each" >> beam.Distinct()
        | "Read" >> beam.ParDo(_Read(job)).with_outputs(_TOTALS, main="texts")
    )
    tokenized = (
        read.texts
        | "Spread" >> beam.Reshuffle()
        | "Tokenize"
        >> beam.ParDo(_Tokenize(job)).with_outputs(_TOTALS, main=_SHARDS)
    )
    # Shards without a document are written, too.
    every = pipeline | "Every shard" >> beam.Create(
        [(shard, b"") for shard in range(job.num_shards)]
    )
    contents = (
        (tokenized[_SHARDS], every)
        | "Documents" >> beam.Flatten()
        | "By shard" >> beam.GroupByKey()
        | "Write" >> beam.ParDo(_Write(job))
    )
    totals = (
        (read[_TOTALS], tokenized[_TOTALS])
        | "Totals" >> beam.Flatten()
        | "Sum" >> beam.CombineGlobally(_sum_totals)
    )
    _ = (
        pipeline
        | "Once" >> beam.Create([job.output])
        | "Counts"
        >> beam.Map(
            _write_result,
            beam.pvalue.AsList(contents),
            beam.pvalue.AsSingleton(totals),
        )
    )


class _Read(beam.DoFn):
    """Path of a file -> lists of documents, about a megabyte each."""

    def __init__(self, job):
        self._text_field = job.text_field

    def process(self, path):
        counts = ReadingCounts()
        texts, size = [], 0
        with FileSystems.open(
            path, compression_type=CompressionTypes.UNCOMPRESSED
        ) as file:
            documents = stream_file(
                file,
                path,
                self._text_field,
                max_bytes=MAX_DOCUMENT_BYTES,
                counts=counts,
            )
            for lines in documents:
                texts.append("\n".join(lines))
                size += len(texts[-1])
                if size >= _BATCH_CHARACTERS:
                    yield texts
                    texts, size = [], 0
        if texts:
            yield texts
        totals = Totals(
            cut_documents=counts.cut_documents, split_lines=counts.split_lines
        )
        yield beam.pvalue.TaggedOutput(_TOTALS, dataclasses.astuple(totals))


class _Tokenize(beam.DoFn):
    """Documents -> (shard, tokenized documents as bytes)."""

    def __init__(self, job):
        self._job = job
        self._tokenizer = None

    def setup(self):
        self._tokenizer = DocumentTokenizer(
            encoder_from_config(self._job.encoder_config),
            self._job.word_segmenter,
        )

    def process(self, texts):
        documents, totals = self._tokenizer.tokenize(texts)
        shards = shards_of(documents.identities, self._job.num_shards)
        for shard in np.unique(shards).tolist():
            mine = documents.take(np.flatnonzero(shards == shard))
            yield shard, to_bytes(mine)
        yield beam.pvalue.TaggedOutput(_TOTALS, dataclasses.astuple(totals))


class _Write(beam.DoFn):
    """(shard, its documents) -> what was counted in its file."""

    def __init__(self, job):
        self._job = job

    def process(self, element):
        shard, parts = element
        documents = [from_bytes(part) for part in parts if part]
        name = shard_name(shard, self._job.num_shards)
        with _Writing(self._job.output, name) as file:
            content = write_shard(
                file,
                concatenate(documents).by_identity(),
                self._job.chunks,
                self._job.vocabulary_size,
            )
        counted = dataclasses.asdict(content)
        counted["token_counts"] = counted["token_counts"].tolist()
        yield shard, counted


class _Writing:
    """A file of Beam's that gets its name when it is complete."""

    def __init__(self, folder, name):
        # Workers may do the same work twice at a time: each has a name.
        temporary = f".writing-{uuid.uuid4().hex}-{Path(name).name}"
        self._target = FileSystems.join(folder, name)
        self._temporary = FileSystems.join(folder, temporary)

    def __enter__(self):
        self._file = FileSystems.create(
            self._temporary, compression_type=CompressionTypes.UNCOMPRESSED
        )
        return self._file

    def __exit__(self, kind, *exception):
        self._file.close()
        if kind is None:
            FileSystems.rename([self._temporary], [self._target])
        else:
            FileSystems.delete([self._temporary])


def _sum_totals(rows):
    columns = zip(*rows, strict=True)
    return tuple(map(sum, columns)) or dataclasses.astuple(Totals())


def _write_result(output, contents, totals):
    ordered = [content for _, content in sorted(contents, key=lambda c: c[0])]
    result = {"contents": ordered, "totals": totals}
    _write_file(output, _RESULT_FILE, json.dumps(result).encode())


def _read_result(output):
    path = FileSystems.join(output, _RESULT_FILE)
    result = json.loads(_read_file(path))
    FileSystems.delete([path])
    contents = [
        ShardContent(**{**content, "token_counts": np.array(counts, "int64")})
        for content in result["contents"]
        for counts in [content["token_counts"]]
    ]
    return contents, Totals(*result["totals"])


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


def _describe_files(patterns):
    """Lists path, size and time of change of all files of a corpus."""
    found = {}
    for pattern, match in zip(
        patterns, FileSystems.match(patterns), strict=True
    ):
        if not match.metadata_list:
            raise FileNotFoundError(
                f"The pattern '{pattern}' matches no file. Check the folder "
                "and the ending."
            )
        for metadata in match.metadata_list:
            found[metadata.path] = {
                "path": metadata.path,
                "bytes": metadata.size_in_bytes,
                "changed": metadata.last_updated_in_seconds,
            }
    return [found[path] for path in sorted(found)]


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
    before = json.loads(_read_file(settings_path))
    now = json.loads(json.dumps(settings))
    check_same_settings(before, now, output, is_complete)
    if not is_complete:
        return None
    return parse_manifest(_read_file(manifest_path), manifest_path)


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
    _write_file(output, SETTINGS_FILE, json.dumps(settings, indent=2).encode())


def _finish(job, stored, contents, totals):
    """Writes what belongs to all shards; the manifest is last."""
    with tempfile.TemporaryDirectory() as folder:
        name = stored.write(folder)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                relative = path.relative_to(folder).as_posix()
                _write_file(job.output, relative, path.read_bytes())
        counts = Path(folder) / TOKEN_COUNTS_FILE
        np.save(counts, sum(content.token_counts for content in contents))
        _write_file(job.output, TOKEN_COUNTS_FILE, counts.read_bytes())
    manifest = make_manifest(
        job.chunks, stored.encoder, name, job.word_segmenter, contents, totals
    )
    _write_file(job.output, MANIFEST_FILE, manifest.to_json().encode())
    return manifest


def _write_file(folder, name, content):
    """Writes a small file; `name` may have folders of its own."""
    parent = FileSystems.join(folder, *Path(name).parts[:-1])
    if not FileSystems.exists(parent):
        FileSystems.mkdirs(parent)
    with _Writing(parent, Path(name).name) as file:
        file.write(content)


def _read_file(path):
    with FileSystems.open(
        path, compression_type=CompressionTypes.UNCOMPRESSED
    ) as file:
        return file.read()
