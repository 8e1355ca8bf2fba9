"""What a stream of batches does to text, counted from the batches alone."""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_albert.data import masking


@dataclasses.dataclass(frozen=True)
class BatchStatistics:
    """Shares, each of what its comment says."""

    masked: float  # of the real tokens
    hidden: float  # [MASK], of the targets
    replaced: float  # another token, of the targets
    kept: float  # of the targets
    swapped: float  # of the pairs
    padding: float  # of all tokens
    half_masked_words: int  # words with targets that are not all targets
    special_targets: int
    strange_pairs: int  # examples whose segments share no document
    examined_pairs: int


def measure_batches(dataset, num_batches, tokenizer, documents, num_examined):
    """Counts over the first batches of a dataset.

    Args:
        dataset: as from `pretraining_dataset`.
        num_batches: int.
        tokenizer: the tokenizer.
        documents: list of int32 arrays, the token ids of the documents.
        num_examined: int. For how many examples to look for the document.

    Returns:
        `BatchStatistics`.
    """
    batches = list(dataset.take(num_batches).as_numpy_iterator())
    inputs, targets, weights = (
        {
            name: np.concatenate([batch[part][name] for batch in batches])
            for name in batches[0][part]
        }
        for part in range(3)
    )
    shown, positions = inputs["token_ids"], inputs["mask_positions"]
    real = inputs["padding_mask"] == 1
    row, slot = np.nonzero(weights["masked_lm"] > 0)
    place = positions[row, slot]
    answer = targets["masked_lm"][row, slot]
    seen = shown[row, place]
    original = shown.copy()
    original[row, place] = answer
    is_target = np.zeros_like(real)
    is_target[row, place] = True
    has_pair = weights["sentence_order"] > 0
    hidden = seen == tokenizer.mask_token_id
    kept = seen == answer
    return BatchStatistics(
        masked=is_target.sum() / real.sum(),
        hidden=hidden.mean(),
        replaced=(~hidden & ~kept).mean(),
        kept=kept.mean(),
        swapped=targets["sentence_order"][has_pair].mean(),
        padding=1 - real.mean(),
        half_masked_words=_count_half_masked(original, is_target, tokenizer),
        special_targets=int(np.isin(answer, tokenizer.special_token_ids).sum()),
        strange_pairs=_count_strange(
            original[:num_examined],
            inputs["segment_ids"][:num_examined],
            documents,
            tokenizer,
        ),
        examined_pairs=min(num_examined, len(original)),
    )


def span_length_shares(dataset, num_batches, tokenizer, max_ngram=3):
    """Shares of spans of 1 … `max_ngram` words that masking draws on batches.

    Spans that the end of a segment cuts short are left out: the last
    `max_ngram` words before a token that is never masked.
    """
    counts = np.zeros(max_ngram + 1)
    for index, (inputs, _, _) in enumerate(dataset.take(num_batches)):
        ids = inputs["token_ids"].numpy()
        text = ~np.isin(ids, tokenizer.special_token_ids)
        words = text & np.asarray(tokenizer.word_starts)[ids]
        keys = tf.constant(np.arange(len(ids), dtype="uint64") * 977 + index)
        begins = masking._span_starts(
            tf.constant(text), tf.constant(words), keys, max_ngram
        ).numpy()
        for row in range(len(ids)):
            number = np.cumsum(words[row])  # of the word at each token
            ends = np.flatnonzero(~text[row])
            for begin, end in zip(ends[:-1], ends[1:], strict=True):
                starts = np.flatnonzero(begins[row, begin:end]) + begin
                lengths = np.diff(number[starts])
                whole = number[starts[:-1]] <= number[end] - max_ngram
                counts += np.bincount(lengths[whole], minlength=max_ngram + 1)[
                    : max_ngram + 1
                ]
    return counts[1:] / counts.sum()


def _count_half_masked(original, is_target, tokenizer):
    special = np.isin(original, tokenizer.special_token_ids)
    begins = np.asarray(tokenizer.word_starts)[original] | special
    # The first token after a special one begins a word, whatever it is.
    begins[:, 1:] |= special[:, :-1]
    word = np.cumsum(begins.ravel()) - 1
    size = np.bincount(word)
    masked = np.bincount(word, weights=is_target.ravel())
    return int(((masked > 0) & (masked < size)).sum())


def _count_strange(original, segment_ids, documents, tokenizer):
    """Looks for both segments, as sequences of ids, in each document."""
    edges = [
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.pad_token_id,
    ]
    texts = [document.astype("<u4").tobytes() for document in documents]
    strange = 0
    for ids, segments in zip(original, segment_ids, strict=True):
        inside = ~np.isin(ids, edges)
        parts = [
            ids[inside & (segments == segment)].astype("<u4").tobytes()
            for segment in (0, 1)
        ]
        strange += not any(
            all(part in text for part in parts) for text in texts
        )
    return strange
