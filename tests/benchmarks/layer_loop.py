"""What one compiled body for all layer calls saves, and what it costs.

    KERAS_BACKEND=jax python tests/benchmarks/layer_loop.py
    KERAS_BACKEND=tensorflow python tests/benchmarks/layer_loop.py

Compile time of a training step with 3 and with 24 layer calls, as a loop and
unrolled; then the time of a step with 12 calls, both ways by turns. All times
are the processor's, over all threads; each program has a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

MODEL = {
    "vocabulary_size": 1000,
    "num_heads": 4,
    "embedding_dim": 64,
    "hidden_dim": 256,
    "intermediate_dim": 1024,
    "max_sequence_length": 128,
}
BATCH, LENGTH, PREDICTIONS = 8, 128, 20
TARGET = 1.3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 24])
    parser.add_argument("--compile", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compile:
        print(compile_seconds(*arguments.compile))
        return
    print(f"KERAS_BACKEND={os.environ['KERAS_BACKEND']}")
    for unroll in (False, True):
        seconds = [in_own_process(n, unroll) for n in arguments.depths]
        print(
            f"{'unrolled' if unroll else 'loop':9} first step: "
            + ", ".join(
                f"{n} calls {s:.1f} s"
                for n, s in zip(arguments.depths, seconds, strict=True)
            )
            + f", ratio {seconds[-1] / seconds[0]:.2f}"
            + ("" if unroll else f" (target {TARGET})"),
            flush=True,
        )
    ratio = step_ratio(arguments.steps, arguments.rounds)
    print(f"12 calls, a step as a loop takes {ratio:.3f} of an unrolled one")


def in_own_process(num_layers, unroll):
    done = subprocess.run(
        [
            sys.executable,
            __file__,
            "--compile",
            json.dumps([num_layers, unroll]),
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def compile_seconds(num_layers, unroll):
    """Processor time of the first step, less that of a later one."""
    run = stepper(num_layers, unroll)
    first, second = (cpu_seconds(run) for _ in range(2))
    return first - second


def step_ratio(steps, rounds):
    """Median over the rounds of loop over unrolled."""
    both = [stepper(12, unroll) for unroll in (False, True)]
    for run in both:
        run()
    found = []
    for _ in range(rounds):
        loop, unrolled = (
            cpu_seconds(lambda run=run: [run() for _ in range(steps)])
            for run in both
        )
        found.append(loop / unrolled)
    return sorted(found)[rounds // 2]


def stepper(num_layers, unroll):
    """Returns a function that makes one training step of a new model."""
    import keras

    from keras_albert.models import AlbertBackbone
    from keras_albert.models import AlbertPretrainer
    from keras_albert.training import make_optimizer

    model = AlbertPretrainer(
        AlbertBackbone(num_layers=num_layers, unroll=unroll, **MODEL)
    )
    model.compile(make_optimizer("lamb", 1e-4, steps=1000), jit_compile=True)
    data = batches()

    def step():
        keras.Model.fit(
            model, data, epochs=1, steps_per_epoch=1, verbose=0, shuffle=False
        )

    return step


def batches():
    """One batch of noise, again and again."""
    import numpy as np
    import tensorflow as tf

    generator = np.random.default_rng(0)
    ids = generator.integers(5, 1000, (BATCH, LENGTH), "int32")
    places = generator.integers(0, LENGTH, (BATCH, PREDICTIONS), "int32")
    order = generator.integers(0, 2, (BATCH,), "int32")
    batch = (
        {
            "token_ids": ids,
            "segment_ids": 0 * ids,
            "padding_mask": 0 * ids + 1,
            "mask_positions": places,
        },
        {
            "masked_lm": np.take_along_axis(ids, places, 1),
            "sentence_order": order,
        },
        {
            "masked_lm": np.ones((BATCH, PREDICTIONS), "float32"),
            "sentence_order": np.ones((BATCH,), "float32"),
        },
    )
    return tf.data.Dataset.from_tensors(batch).repeat()


def cpu_seconds(run):
    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    before = used()
    run()
    return used() - before


if __name__ == "__main__":
    main()
