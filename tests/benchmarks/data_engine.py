"""How fast text becomes batches, beside Google's script.

    python tests/benchmarks/data_engine.py --text train_0.txt.gz \
        --tokenizer spiece.model

Google's `create_pretraining_data.py` made 546 examples of length 128 a second
on one core of a machine on which `SentencePieceProcessor.encode` made
2.34 million tokens a second of the same text. Its speed on this machine is
taken to be in proportion: the encoder is timed in the same run, before and
after each measurement of ours.

Start-up is left out by measuring copies of the text, few and many, and taking
the difference. Two figures are given: by the clock, and by processor time
(2 cores over the processor seconds of an example), which other work on the
machine disturbs less.
"""

import argparse
import dataclasses
import os
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

GOOGLE_EXAMPLES = 546.0
GOOGLE_ENCODER_TOKENS = 2.34e6
SEQUENCE_LENGTH = 128
CORES = 2
TARGETS = {"raw text to batches": 15, "shards to batches": 60}


@dataclasses.dataclass(frozen=True)
class Cost:
    """Seconds of one example."""

    clock: float
    processor: float

    def __add__(self, other):
        return Cost(self.clock + other.clock, self.processor + other.processor)


def processor_seconds():
    """Of this process and of those that ended under it."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(each.ru_utime + each.ru_stime for each in used)


def encoder_speed(lines, tokenizer):
    """Tokens per processor second of SentencePiece alone, one thread."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=tokenizer)
    begin = processor_seconds()
    tokens = sum(map(len, processor.encode(lines, num_threads=1)))
    return tokens / (processor_seconds() - begin)


def measure_prepare(text, tokenizer, folder, copies):
    """Seconds, processor seconds and examples of preparing some copies."""
    from keras_albert import data

    files = []
    for index in range(copies):
        files.append(folder / f"copy-{index}{''.join(text.suffixes)}")
        shutil.copyfile(text, files[-1])
    output = folder / f"prepared-{copies}"
    begin, began = processor_seconds(), time.perf_counter()
    prepared = data.prepare_corpus(
        files,
        tokenizer,
        output,
        sequence_length=SEQUENCE_LENGTH,
        workers=CORES,
        overwrite=True,
    )
    seconds = time.perf_counter() - began
    processor = processor_seconds() - begin
    return seconds, processor, prepared.manifest.num_examples, output


def prepare_cost(text, tokenizer, folder, few, many):
    """Cost of an example of raw text, without the start of the processes."""
    first = measure_prepare(text, tokenizer, folder, few)
    second = measure_prepare(text, tokenizer, folder, many)
    examples = second[2] - first[2]
    return (
        Cost(
            (second[0] - first[0]) / examples,
            (second[1] - first[1]) / examples,
        ),
        second[3],
    )


def read_cost(prepared, batch_size, num_batches, seed):
    """Cost of an example of shards, after the first batch."""
    from keras_albert import data

    batches = iter(
        data.pretraining_dataset(
            prepared, batch_size=batch_size, seed=seed, verify=False
        )
    )
    for _ in range(20):
        next(batches)
    begin, began = processor_seconds(), time.perf_counter()
    for _ in range(num_batches):
        next(batches)
    examples = num_batches * batch_size
    return Cost(
        (time.perf_counter() - began) / examples,
        (processor_seconds() - begin) / examples,
    )


def read_lines(text):
    """The sentences of the text, as the encoder gets them."""
    from keras_albert import data

    return [
        sentence
        for document in data.read_documents(text)
        for line in document
        for sentence in data.split_sentences(line)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--copies", type=int, nargs=2, default=(2, 8))
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--batches", type=int, default=1500)
    arguments = parser.parse_args()

    lines = read_lines(arguments.text)
    rows = {name: [] for name in TARGETS}
    encoder = []
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(arguments.repeats):
            before = encoder_speed(lines, arguments.tokenizer)
            writing, prepared = prepare_cost(
                arguments.text,
                arguments.tokenizer,
                Path(folder),
                *arguments.copies,
            )
            reading = read_cost(
                prepared, arguments.batch_size, arguments.batches, repeat
            )
            after = encoder_speed(lines, arguments.tokenizer)
            encoder.append((before + after) / 2)
            google = GOOGLE_EXAMPLES * encoder[-1] / GOOGLE_ENCODER_TOKENS
            for name, cost in (
                ("raw text to batches", writing + reading),
                ("shards to batches", reading),
            ):
                rows[name].append(
                    (
                        1 / cost.clock,
                        1 / cost.clock / google,
                        CORES / cost.processor,
                        CORES / cost.processor / google,
                    )
                )
    report(rows, encoder)


def report(rows, encoder):
    """Prints a table: medians, with the lowest and highest ratio."""
    from rich.console import Console
    from rich.table import Table

    speed = statistics.median(encoder)
    google = GOOGLE_EXAMPLES * speed / GOOGLE_ENCODER_TOKENS
    console = Console(width=100)
    console.print(
        f"SentencePiece alone: {speed / 1e6:.2f} M tokens/s; so Google's "
        f"script would make {google:.0f} examples/s here."
    )
    table = Table("length 128, 2 cores", box=None)
    for name in (
        "examples/s",
        "× Google",
        "examples/s by processor time",
        "× Google",
        "asked",
    ):
        table.add_column(name, justify="right")
    for name, values in rows.items():
        clock, by_clock, processor, by_processor = zip(*values, strict=True)
        table.add_row(
            name,
            f"{statistics.median(clock):,.0f}",
            spread(by_clock),
            f"{statistics.median(processor):,.0f}",
            spread(by_processor),
            f"{TARGETS[name]} ×",
        )
    console.print(table)


def spread(values):
    """Median with the extremes.

    >>> spread([1.0, 3.0, 2.0])
    '2.0 (1.0–3.0)'
    """
    low, high = min(values), max(values)
    return f"{statistics.median(values):.1f} ({low:.1f}–{high:.1f})"


if __name__ == "__main__":
    main()
