"""The data of a run: batches from any step on, held-out batches, and counts.

text      files or documents -> tokens in memory -> batches of any length
prepared  one folder per sequence length, read as it goes

`run_text` and `run_folders` make a `RunData` of either.
"""

import dataclasses
import numbers

import numpy as np

from keras_albert.data.counter_random import derive_key
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.pretraining import pretraining_dataset


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """What text and prepared folders need alike to make batches."""

    objective: str
    seed: int
    evaluation_passes: int


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """What is read: a `TokenizedCorpus`, or a folder and which shards of it."""

    content: object
    shards: list[int] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run, ready to be read.

    Args:
        settings: `BatchSettings`.
        sources: dict from sequence length to `Source`; the key `None` stands
            for any length.
        held_out_sources: the same, of text that is never trained on.
        tokenizer: the tokenizer.
        token_counts: int array `(vocabulary_size,)`; of prepared folders with
            a held-out share, that share included.
        num_train_documents: int, or `None` if only the total is known.
        num_evaluation_documents: int or `None`.
        num_train_tokens: int.
    """

    settings: BatchSettings
    sources: dict
    held_out_sources: dict
    tokenizer: object
    token_counts: np.ndarray
    num_train_documents: int | None
    num_evaluation_documents: int | None
    num_train_tokens: int

    def batches(self, span, step, worker_index=0, num_workers=1):
        """Returns the endless batches of a phase, from a step of the run on.

        Args:
            span: `PhaseSpan`.
            step: int. A step of the run, not before the phase.
            worker_index, num_workers: int, as in `pretraining_dataset`.
        """
        # Each phase draws pairs and masks of its own.
        key = derive_key(self.settings.seed, span.index) >> np.uint64(1)
        source = self._source(self.sources, span)
        return pretraining_dataset(
            source.content,
            self.tokenizer,
            shards=source.shards,
            verify=False,
            batch_size=span.batch_size,
            sequence_length=span.sequence_length,
            objective=self.settings.objective,
            seed=int(key) if span.index else self.settings.seed,
            start_step=span.steps_before(step),
            worker_index=worker_index,
            num_workers=num_workers,
        )

    def evaluation(self, span):
        """Returns the held-out batches of a phase, cut anew in each pass."""
        source = self._source(self.held_out_sources, span)
        passes = [
            evaluation_dataset(
                source.content,
                self.tokenizer,
                shards=source.shards,
                verify=False,
                batch_size=span.batch_size,
                sequence_length=span.sequence_length,
                objective=self.settings.objective,
                seed=self.settings.seed + index,
            )
            for index in range(self.settings.evaluation_passes)
        ]
        dataset = passes[0]
        for one_pass in passes[1:]:
            dataset = dataset.concatenate(one_pass)
        return dataset.cache()

    def text_fingerprints(self):
        """Hashes of text in memory, trained on and held out, or `None`."""
        if None not in self.sources:
            return None
        return [
            part[None].content.fingerprint()
            for part in (self.sources, self.held_out_sources)
        ]

    @staticmethod
    def _source(sources, span):
        return sources.get(None, sources.get(span.sequence_length))


def check_share(held_out_share):
    """Raises ValueError unless a share lies between 0 and 1."""
    is_number = isinstance(held_out_share, numbers.Real)
    if not is_number or not 0 < held_out_share < 1:
        raise ValueError(
            "`held_out_share` must lie between 0 and 1. Received: "
            f"{held_out_share!r}."
        )
