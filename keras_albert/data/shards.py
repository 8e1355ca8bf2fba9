"""A folder of prepared data: its shards, and the manifest that lists them.

    DIR/manifest.json                     written last: it makes DIR complete
    DIR/tokenizer/…                       the tokenizer that made the ids
    DIR/token_counts.npy                  how often each id occurs
    DIR/shard-00000-of-00008.tfrecord …   one record per chunk

A record is a `tf.train.Example` of one chunk, see `keras_albert.data.chunks`:

    token_ids         int64 list, without special tokens
    word_starts       bytes, bit i (lowest first) = token i starts a word
    sentence_lengths  int64 list, tokens of each sentence
    document          int64, hash of the document's text

The manifest depends on text and settings alone: not on names of files, their
order, the number of workers or the time.
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from keras_albert.data.whole_files import writing_whole

FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"
TOKEN_COUNTS_FILE = "token_counts.npy"
TOKENIZER_FOLDER = "tokenizer"
SENTENCE_ORDER_LABELS = "1 = swapped, 0 = in order"
_BLOCK_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class ShardInfo:
    """One file of examples."""

    name: str
    num_examples: int
    num_tokens: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Totals:
    """What went in and what came out.

    Args:
        documents: int. Documents with at least one token.
        sentences: int. Sentences with at least one token.
        tokens: int.
        unknown_tokens: int. Tokens that stand for text outside the vocabulary.
        one_sentence_documents: int. They give no sentence order but by a cut
            inside the sentence.
        split_sentences: int. Sentences longer than an example, cut into
            parts.
        split_lines: int. Lines too long to be held as one.
        cut_documents: int. Documents too long to be held as one.
        sentences_without_tokens: int. Sentences of nothing but characters
            that the tokenizer removes, such as control characters.
        unaligned_sentences: int. Sentences in which word segmenter and
            tokenizer disagreed about the text.
        bytes_read: int. UTF-8 bytes of the documents' lines.
        bytes_lost: int. UTF-8 bytes, but for white space, that are in no
            sentence.
        examples: int.
    """

    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    unknown_tokens: int = 0
    one_sentence_documents: int = 0
    split_sentences: int = 0
    split_lines: int = 0
    cut_documents: int = 0
    sentences_without_tokens: int = 0
    unaligned_sentences: int = 0
    bytes_read: int = 0
    bytes_lost: int = 0
    examples: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        mine, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return Totals(*(a + b for a, b in zip(mine, others, strict=True)))


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What a reader must know of a folder of prepared data.

    Args:
        sequence_length: int. Length of an example with its special tokens.
        short_sequence_probability: float.
        seed: int.
        max_chunk_tokens: int. The longest `token_ids`.
        max_chunk_sentences: int. The longest `sentence_lengths`.
        vocabulary_size: int.
        tokenizer: string. Path of the tokenizer inside the folder, for
            `load_tokenizer`.
        tokenizer_fingerprint: string.
        special_token_ids: dict from `"pad"`, `"unk"`, `"cls"`, `"sep"`,
            `"mask"` to int.
        word_segmenter: string. `"jieba"`, or `None`.
        totals: `Totals`.
        shards: tuple of `ShardInfo`.
        token_counts: string. Name of the file with the occurrences of each
            id, an int64 array of shape `(vocabulary_size,)`.
        sentence_order: string. What the labels mean.
        format_version: int.
    """

    sequence_length: int
    short_sequence_probability: float
    seed: int
    max_chunk_tokens: int
    max_chunk_sentences: int
    vocabulary_size: int
    tokenizer: str
    tokenizer_fingerprint: str
    special_token_ids: dict[str, int]
    word_segmenter: str | None
    totals: Totals
    shards: tuple[ShardInfo, ...]
    token_counts: str = TOKEN_COUNTS_FILE
    sentence_order: str = SENTENCE_ORDER_LABELS
    format_version: int = FORMAT_VERSION

    @property
    def num_examples(self) -> int:
        """Number of examples in all shards."""
        return sum(shard.num_examples for shard in self.shards)

    def to_json(self) -> str:
        """The text of `manifest.json`."""
        content = dataclasses.asdict(self)
        return json.dumps(content, indent=2, sort_keys=True) + "\n"


def shard_name(index: int, num_shards: int) -> str:
    """Names a shard: `shard-00003-of-00008.tfrecord`."""
    return f"shard-{index:05d}-of-{num_shards:05d}.tfrecord"


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Writes the manifest, which declares a folder complete.

    Args:
        folder: string or path.
        manifest: `Manifest`.
    """
    with writing_whole(Path(folder) / MANIFEST_FILE) as file:
        file.write(manifest.to_json().encode())


def read_manifest(folder: str | Path) -> Manifest:
    """Reads the manifest of a folder of prepared data.

    Args:
        folder: string or path.

    Returns:
        `Manifest`.

    Raises:
        FileNotFoundError: if there is no such folder, or it is not complete,
            or a shard is missing.
        ValueError: if the manifest is damaged or of another version.
    """
    folder = Path(folder)
    path = folder / MANIFEST_FILE
    if not path.is_file():
        raise FileNotFoundError(_not_prepared(folder))
    manifest = parse_manifest(path.read_bytes(), path)
    for shard in manifest.shards:
        if not (folder / shard.name).is_file():
            raise FileNotFoundError(
                f"{folder} lacks {shard.name}, which its manifest lists. Copy "
                "the whole folder, or prepare the corpus again."
            )
    return manifest


def parse_manifest(content: bytes, path: str | Path) -> Manifest:
    """Reads a manifest from the content of its file.

    Args:
        content: bytes.
        path: string or path that messages name.

    Returns:
        `Manifest`.

    Raises:
        ValueError: if the manifest is damaged or of another version.
    """
    try:
        fields = json.loads(content)
        version = fields.pop("format_version")
        if version == FORMAT_VERSION:
            fields["totals"] = Totals(**fields["totals"])
            fields["shards"] = tuple(
                ShardInfo(**shard) for shard in fields["shards"]
            )
            return Manifest(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is no manifest of prepared data: {error!r}. "
            "Prepare the corpus again with `keras-albert prepare`."
        ) from error
    raise ValueError(
        f"{path} has format version {version}; this release reads version "
        f"{FORMAT_VERSION}. Prepare the corpus again with `keras-albert "
        "prepare`."
    )


def verify_shards(folder: str | Path) -> Manifest:
    """Reads every shard and compares its checksum with the manifest's.

    Args:
        folder: string or path.

    Returns:
        The `Manifest`, if all is well.

    Raises:
        FileNotFoundError: as `read_manifest`.
        ValueError: as `read_manifest`, or if the content of a shard changed.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    for shard in manifest.shards:
        found = file_sha256(folder / shard.name)
        if found != shard.sha256:
            raise ValueError(
                f"{folder / shard.name} is damaged: its SHA-256 begins with "
                f"{found[:12]}, the manifest's with {shard.sha256[:12]}. Copy "
                "it again, or prepare the corpus again."
            )
    return manifest


def read_token_counts(folder: str | Path, manifest: Manifest) -> np.ndarray:
    """Reads how often each id occurs in the prepared text.

    Args:
        folder: string or path.
        manifest: its `Manifest`.

    Returns:
        int64 array of shape `(vocabulary_size,)`.
    """
    return np.load(Path(folder) / manifest.token_counts, allow_pickle=False)


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file as a hexadecimal string."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _not_prepared(folder):
    if not folder.is_dir():
        return (
            f"There is no folder {folder}. Expected a folder that "
            "`keras-albert prepare` wrote."
        )
    if (folder / "preparation.json").is_file():
        return (
            f"The preparation of {folder} is not finished. Give the same "
            "`keras-albert prepare` command again: it goes on where it was "
            "stopped."
        )
    return (
        f"{folder} holds no {MANIFEST_FILE}, so it is no prepared data. Name "
        "the folder that was the --output of `keras-albert prepare`."
    )
