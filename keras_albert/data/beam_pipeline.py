"""The steps of a preparation as an Apache Beam pipeline.

    patterns -> files -> batches of documents -> tokenized, split by shard
    -> grouped by shard -> sorted, cut into chunks, written -> counts

Every step is a function of the plain preparation.
"""

import dataclasses
import json

import apache_beam as beam
import numpy as np
from apache_beam.io import fileio
from apache_beam.io.filesystems import FileSystems

from keras_albert.data.beam_files import WholeFile
from keras_albert.data.beam_files import open_stored
from keras_albert.data.beam_files import read_file
from keras_albert.data.beam_files import write_file
from keras_albert.data.corpus import ReadingCounts
from keras_albert.data.corpus import stream_file
from keras_albert.data.corpus_units import MAX_DOCUMENT_BYTES
from keras_albert.data.document_tokenizing import DocumentTokenizer
from keras_albert.data.shard_writing import ChunkSettings
from keras_albert.data.shard_writing import ShardContent
from keras_albert.data.shard_writing import write_shard
from keras_albert.data.shards import Totals
from keras_albert.data.shards import shard_name
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
        with open_stored(path) as file:
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
        with WholeFile(self._job.output, name) as file:
            content = write_shard(
                file,
                concatenate(documents).by_identity(),
                self._job.chunks,
                self._job.vocabulary_size,
            )
        counted = dataclasses.asdict(content)
        counted["token_counts"] = counted["token_counts"].tolist()
        yield shard, counted


def _sum_totals(rows):
    columns = zip(*rows, strict=True)
    return tuple(map(sum, columns)) or dataclasses.astuple(Totals())


def _write_result(output, contents, totals):
    ordered = [content for _, content in sorted(contents, key=lambda c: c[0])]
    result = {"contents": ordered, "totals": totals}
    write_file(output, _RESULT_FILE, json.dumps(result).encode())


def read_result(output: str) -> tuple[list[ShardContent], Totals]:
    """Reads what a finished pipeline counted.

    Args:
        output: string. The folder of the prepared data.

    Returns:
        A list of `ShardContent`, by the number of the shard, and `Totals`.
    """
    path = FileSystems.join(output, _RESULT_FILE)
    result = json.loads(read_file(path))
    FileSystems.delete([path])
    contents = [
        ShardContent(**{**content, "token_counts": np.array(counts, "int64")})
        for content in result["contents"]
        for counts in [content["token_counts"]]
    ]
    return contents, Totals(*result["totals"])
