"""The share of `fit` that is spent waiting for data, with a tiny model.

    KERAS_BACKEND=jax python tests/benchmarks/input_wait.py \
        --text train_0.txt.gz --tokenizer spiece.model

`fit` of JAX and PyTorch takes one batch after the other from a Python
iterator; the time inside that iterator is the time the step waits. Batches
are made in the background meanwhile, on the same cores as the model.
"""

import argparse
import functools
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

MODEL = {
    "num_layers": 2,
    "num_heads": 2,
    "embedding_dim": 32,
    "hidden_dim": 64,
    "intermediate_dim": 128,
}
WARM_UP_STEPS = 30


class TimedBatches:
    """Hands on batches and adds up how long each was waited for."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.waited = 0.0

    def __call__(self):
        batches = self.dataset.as_numpy_iterator()
        while True:
            began = time.perf_counter()
            batch = next(batches)
            self.waited += time.perf_counter() - began
            yield batch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()

    import keras

    import keras_albert as ka

    if keras.backend.backend() == "tensorflow":
        parser.error("TensorFlow's `fit` waits in the graph; use jax or torch.")
    with tempfile.TemporaryDirectory() as folder:
        ka.data.prepare_corpus(
            arguments.text,
            arguments.tokenizer,
            Path(folder) / "prepared",
            sequence_length=arguments.sequence_length,
            workers=0,
        )
        dataset = ka.data.pretraining_dataset(
            Path(folder) / "prepared", batch_size=arguments.batch_size, seed=0
        )
        tokenizer = ka.load_tokenizer(arguments.tokenizer)
        model = ka.AlbertPretrainer(
            ka.AlbertBackbone(
                vocabulary_size=tokenizer.vocabulary_size(), **MODEL
            )
        )
        model.compile()
        batches = TimedBatches(dataset)
        stream = batches()
        # keras-hub's `fit` in between takes datasets and arrays only.
        fit = functools.partial(keras.Model.fit, model, stream, verbose=0)
        fit(steps_per_epoch=WARM_UP_STEPS)
        for _ in range(arguments.repeats):
            batches.waited = 0.0
            began = time.perf_counter()
            fit(steps_per_epoch=arguments.steps)
            seconds = time.perf_counter() - began
            print(
                f"{keras.backend.backend()}, {model.count_params():,} weights: "
                f"{1000 * seconds / arguments.steps:.1f} ms a step, "
                f"{100 * batches.waited / seconds:.1f} % waiting for data"
            )


if __name__ == "__main__":
    main()
