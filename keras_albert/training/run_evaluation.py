"""The held-out batches of a run, and what they say before any training."""

import numpy as np

from keras_albert.training.floors import unigram_accuracy
from keras_albert.training.floors import unigram_cross_entropy


class RunEvaluation:
    """Held-out batches of every phase, with the floors of the last.

    Args:
        data: `RunData`.
        spans: list of `PhaseSpan`.

    Attributes:
        datasets: list of `tf.data.Dataset`, one for each phase.
        masked_lm_floor: float. Nats of guessing by token frequency.
        masked_lm_accuracy_floor: float. The same for the accuracy.
        num_pairs: int. Pairs with a sentence order; 0 for none.
    """

    def __init__(self, data, spans):
        self.datasets = [data.evaluation(span) for span in spans]
        last = self.datasets[-1]
        counts = data.token_counts
        ids, self.num_pairs = _look_through(last)
        self.masked_lm_floor = unigram_cross_entropy(counts, ids)
        self.masked_lm_accuracy_floor = unigram_accuracy(counts, ids)


def _look_through(dataset):
    """Returns the hidden token ids, and how many pairs have an order."""
    ids, num_pairs = [], 0
    for _, targets, weights in dataset.as_numpy_iterator():
        ids.append(targets["masked_lm"][weights["masked_lm"] > 0])
        num_pairs += int((weights["sentence_order"] > 0).sum())
    return np.concatenate(ids), num_pairs
