"""One example of a batch in words, as a person would want to see it."""

import dataclasses

import numpy as np

from keras_albert.data.corpus_batches import corpus_example
from keras_albert.data.example_batches import check_index
from keras_albert.data.prepared_data import open_prepared

HIDDEN, RANDOM, KEPT = "[MASK]", "random word", "left as it is"


@dataclasses.dataclass(frozen=True)
class ExplainedTarget:
    """One prediction: where, what was shown, what is right and why.

    Args:
        position: int. Place in the example.
        shown: string. The piece that the model sees.
        target: string. The piece that is right.
        reason: `"[MASK]"`, `"random word"` or `"left as it is"`.
    """

    position: int
    shown: str
    target: str
    reason: str


@dataclasses.dataclass(frozen=True)
class ExplainedExample:
    """An example in words: what was written, what the model sees and must say.

    Args:
        original: list of strings. All pieces before masking, with the special
            tokens, without padding.
        shown: list of strings. The pieces that the model sees.
        targets: list of `ExplainedTarget`, by position.
        first: string. Text of segment A before masking.
        second: string. Text of segment B; empty if there is none.
        swapped: bool, or `None` if the example has no pair. Label of the
            sentence-order task.
        special_positions: list of ints. Where `[CLS]` and `[SEP]` are.
        spans: list of lists of ints. Positions of the targets, those side by
            side together.
        num_padding: int. Places that hold nothing.
    """

    original: list[str]
    shown: list[str]
    targets: list[ExplainedTarget]
    first: str
    second: str
    swapped: bool | None
    special_positions: list[int]
    spans: list[list[int]]
    num_padding: int


def explain_prepared(
    folder, tokenizer=None, *, index: int, seed: int, epoch: int = 0
) -> ExplainedExample:
    """Puts one example of prepared data into words, as an epoch shows it.

    Args:
        folder: string or path. What `keras-albert prepare` wrote.
        tokenizer: the tokenizer. Defaults to the one stored in the folder.
        index: int. Which example, in the order in which they are stored.
        seed: int. That of the training.
        epoch: int. Defaults to `0`.

    Returns:
        An `ExplainedExample`.

    Raises:
        FileNotFoundError: if the folder is not complete.
        ValueError: if there is no example of that number.
    """
    reader = open_prepared(folder, tokenizer, seed=seed, verify=False)
    check_index(index, reader.manifest.num_examples)
    check_index(epoch, 1 << 62, name="epoch")
    batch = reader.examples(reader.row(index, epoch))
    return explain_example(*batch, reader.make_batch.tokenizer)


def explain_corpus(
    corpus,
    tokenizer,
    *,
    index: int,
    seed: int,
    sequence_length: int = 128,
    epoch: int = 0,
) -> ExplainedExample:
    """Puts one example of a corpus in memory into words.

    Args:
        corpus: `TokenizedCorpus`.
        tokenizer: the tokenizer.
        index: int. Which example, in the order of the corpus.
        seed: int. That of the training.
        sequence_length: int. Defaults to `128`.
        epoch: int. Defaults to `0`.

    Returns:
        An `ExplainedExample`.

    Raises:
        ValueError: if there is no example of that number.
    """
    check_index(epoch, 1 << 62, name="epoch")
    batch = corpus_example(
        corpus,
        tokenizer,
        index,
        sequence_length=sequence_length,
        seed=seed,
        epoch=epoch,
    )
    return explain_example(*batch, tokenizer)


def explain_example(
    inputs, targets, sample_weights, tokenizer, index: int = 0
) -> ExplainedExample:
    """Puts one example of a batch into words.

    Args:
        inputs: dict, as from `pretraining_dataset`.
        targets: dict, as from `pretraining_dataset`.
        sample_weights: dict, as from `pretraining_dataset`.
        tokenizer: the tokenizer of the dataset.
        index: int. Which example of the batch. Defaults to `0`.

    Returns:
        An `ExplainedExample`.

    Example:

    ```python
    inputs, targets, weights = next(iter(dataset))
    example = explain_example(inputs, targets, weights, tokenizer)
    print(example.first, example.second, example.swapped)
    ```
    """
    row = {name: np.asarray(value)[index] for name, value in inputs.items()}
    real = row["padding_mask"] == 1
    shown = row["token_ids"][real]
    segments = row["segment_ids"][real]
    predicted = np.asarray(sample_weights["masked_lm"])[index] > 0
    positions = row["mask_positions"][predicted]
    ids = np.asarray(targets["masked_lm"])[index][predicted]
    original = shown.copy()
    original[positions] = ids
    edges = np.isin(original, [tokenizer.cls_token_id, tokenizer.sep_token_id])
    has_pair = np.asarray(sample_weights["sentence_order"])[index] > 0
    label = bool(np.asarray(targets["sentence_order"])[index] == 1)
    to_piece = tokenizer.id_to_token
    first, second = (
        _text_of(original[(segments == segment) & ~edges], tokenizer)
        for segment in (0, 1)
    )
    return ExplainedExample(
        original=[to_piece(int(i)) for i in original],
        shown=[to_piece(int(i)) for i in shown],
        targets=[
            ExplainedTarget(
                int(position),
                to_piece(int(shown[position])),
                to_piece(int(target)),
                _reason(shown[position], target, tokenizer.mask_token_id),
            )
            for position, target in zip(positions, ids, strict=True)
        ],
        first=first,
        second=second,
        swapped=label if has_pair else None,
        special_positions=np.flatnonzero(edges).tolist(),
        spans=_neighbours(positions),
        num_padding=int((~real).sum()),
    )


def _reason(shown, target, mask_token_id):
    if shown == mask_token_id:
        return HIDDEN
    return KEPT if shown == target else RANDOM


def _neighbours(positions):
    """Ascending positions in groups without gaps: [3, 4, 7] -> [3, 4], [7]."""
    if not len(positions):
        return []
    gaps = np.flatnonzero(np.diff(positions) > 1) + 1
    return [group.tolist() for group in np.split(positions, gaps)]


def _text_of(token_ids, tokenizer):
    return tokenizer.detokenize(token_ids.tolist()) if len(token_ids) else ""
