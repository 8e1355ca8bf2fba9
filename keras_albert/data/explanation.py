"""One example of a batch in words, as a person would want to see it."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ExplainedTarget:
    """One prediction: where, what was shown and what is right."""

    position: int
    shown: str
    target: str


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
    """

    original: list[str]
    shown: list[str]
    targets: list[ExplainedTarget]
    first: str
    second: str
    swapped: bool | None


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
    has_pair = np.asarray(sample_weights["sentence_order"])[index] > 0
    label = bool(np.asarray(targets["sentence_order"])[index] == 1)
    to_piece = tokenizer.id_to_token
    text = [
        _text_of(original[(segments == segment)], tokenizer)
        for segment in (0, 1)
    ]
    return ExplainedExample(
        original=[to_piece(int(i)) for i in original],
        shown=[to_piece(int(i)) for i in shown],
        targets=[
            ExplainedTarget(int(p), to_piece(int(shown[p])), to_piece(int(i)))
            for p, i in zip(positions, ids, strict=True)
        ],
        first=text[0],
        second=text[1],
        swapped=label if has_pair else None,
    )


def _text_of(token_ids, tokenizer):
    edges = [tokenizer.cls_token_id, tokenizer.sep_token_id]
    inner = token_ids[~np.isin(token_ids, edges)].tolist()
    return tokenizer.detokenize(inner) if inner else ""
