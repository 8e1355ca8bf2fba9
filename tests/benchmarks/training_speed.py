"""Training steps of ALBERT-base beside keras-hub's and Hugging Face's.

    python tests/benchmarks/training_speed.py --backend tensorflow

Each contender is a process of its own that builds the model, compiles the
step and waits. The parent lets them step in turn, so that all see the same
machine, and compares medians. All train every weight with AdamW on the same
masked-LM batch; ours has the sentence-order loss on top. `--remat` and `--loop`
are for ours alone: `transformers` refuses it for ALBERT, keras-hub has none.
"""

import argparse
import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

VOCABULARY_SIZE = 30_000
SEED = 0
# The precisions each side may choose from; the best one counts.
PRECISIONS = {
    "tensorflow": ("mixed_bfloat16",),
    "jax": ("float32",),
    "torch": ("mixed_bfloat16",),
    "hugging_face": ("float32", "mixed_bfloat16"),
}


def make_batch(batch_size, length):
    """Ids, padding mask and places of the targets, the same for all."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    predictions = int(length * 0.15) + 1
    shape = (batch_size, length)
    return {
        "token_ids": rng.integers(5, VOCABULARY_SIZE, shape, "int32"),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": np.ones(shape, "int32"),
        "mask_positions": np.stack(
            [
                np.sort(rng.choice(length, predictions, replace=False))
                for _ in range(batch_size)
            ]
        ).astype("int32"),
    }, rng.integers(5, VOCABULARY_SIZE, (batch_size, predictions), "int32")


def ours(size, dtype, arguments):
    """Our pretrainer and optimizer, as `pretrain` builds them."""
    import numpy as np

    import keras_albert as ka
    from keras_albert.models.sizes import backbone_arguments
    from keras_albert.training import AdamW

    inputs, targets = make_batch(arguments.batch_size, arguments.length)
    model = ka.AlbertPretrainer(
        ka.AlbertBackbone(
            **{**backbone_arguments(size), "vocabulary_size": VOCABULARY_SIZE},
            dtype=dtype,
            remat=arguments.remat,
            unroll=not arguments.loop,
        )
    )
    model.compile(AdamW(1e-4))
    orders = np.zeros((arguments.batch_size,), "int32")
    data = (
        inputs,
        {"masked_lm": targets, "sentence_order": orders},
        {
            "masked_lm": np.ones(targets.shape, "float32"),
            "sentence_order": np.ones((arguments.batch_size,), "float32"),
        },
    )
    return keras_steps(model, data)


def keras_hub(size, dtype, arguments):
    """keras-hub's masked LM with the same sizes."""
    import keras
    import keras_hub
    import numpy as np

    from keras_albert.models.sizes import backbone_arguments

    inputs, targets = make_batch(arguments.batch_size, arguments.length)
    names = (
        "num_layers",
        "num_heads",
        "embedding_dim",
        "hidden_dim",
        "intermediate_dim",
        "max_sequence_length",
    )
    sizes = backbone_arguments(size)
    backbone = keras_hub.models.AlbertBackbone(
        VOCABULARY_SIZE,
        **{name: sizes[name] for name in names if name in sizes},
        dropout=0.0,
        dtype=dtype,
    )
    model = keras_hub.models.AlbertMaskedLM(backbone, preprocessor=None)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[],
    )
    return keras_steps(
        model, (inputs, targets, np.ones(targets.shape, "float32"))
    )


def keras_steps(model, data):
    """A function that runs `fit` for some steps on one batch.

    It returns the times of the steps alone: at the end of `fit` TensorFlow
    waits for what tunes its dataset, up to a second.
    """
    import keras

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 0:
                self.began = now()

        def on_train_batch_end(self, batch, logs=None):
            float(logs["loss"])  # JAX has only begun the step until then.
            self.ended = now()

    def forever():
        while True:
            yield data

    def steps(count):
        clock = Clock()
        # keras-hub's own `fit` takes datasets and arrays only.
        keras.Model.fit(
            model,
            forever(),
            steps_per_epoch=count,
            verbose=0,
            shuffle=False,
            callbacks=[clock],
        )
        return time_of(count, clock.began, clock.ended)

    return steps


def now():
    """Seconds by the clock and of the processor."""
    return time.perf_counter(), time.process_time()


def time_of(count, began, ended):
    """The two times of one of several steps."""
    return {
        "seconds": (ended[0] - began[0]) / count,
        "processor": (ended[1] - began[1]) / count,
    }


def hugging_face(size, dtype, arguments):
    """`transformers` on PyTorch, in float32 or under bfloat16 autocast."""
    import torch
    import transformers

    from keras_albert.models.sizes import backbone_arguments

    sizes = backbone_arguments(size)
    inputs, targets = make_batch(arguments.batch_size, arguments.length)
    model = transformers.AlbertForMaskedLM(
        transformers.AlbertConfig(
            vocab_size=VOCABULARY_SIZE,
            embedding_size=sizes["embedding_dim"],
            hidden_size=sizes["hidden_dim"],
            num_hidden_layers=sizes["num_layers"],
            num_attention_heads=sizes["num_heads"],
            intermediate_size=sizes["intermediate_dim"],
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    ).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    token_ids = torch.tensor(inputs["token_ids"], dtype=torch.long)
    labels = torch.full(token_ids.shape, -100)
    labels.scatter_(
        1,
        torch.tensor(inputs["mask_positions"], dtype=torch.long),
        torch.tensor(targets, dtype=torch.long),
    )

    def steps(count):
        began = now()
        for _ in range(count):
            with torch.autocast(
                "cpu", torch.bfloat16, enabled=dtype != "float32"
            ):
                loss = model(
                    input_ids=token_ids,
                    attention_mask=torch.ones_like(token_ids),
                    labels=labels,
                ).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return time_of(count, began, now())

    return steps


CONTENDERS = {
    "keras_albert": ours,
    "keras_hub": keras_hub,
    "hugging_face": hugging_face,
}
# What each imports before it does anything; the names load their modules.
IMPORTS = {
    "keras_albert": ("keras_albert", "AlbertPretrainer"),
    "keras_hub": ("keras_hub.models", "AlbertMaskedLM"),
    "hugging_face": ("transformers", "AlbertForMaskedLM"),
}


def contend(arguments):
    """The child: builds, warms up, then steps once for each line it reads."""
    name, dtype = arguments.contend
    module, attribute = IMPORTS[name]
    getattr(importlib.import_module(module), attribute)
    imported = memory("VmHWM")
    began = time.perf_counter()
    steps = CONTENDERS[name](arguments.size, dtype, arguments)
    steps(2)
    print(json.dumps({"ready": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        print(json.dumps(steps(int(line))), flush=True)
    peak = memory("VmHWM")
    print(json.dumps({"peak": peak, "training": peak - imported}), flush=True)


def memory(field, pid="self"):
    """Bytes of a process: `VmHWM` at most until now, `RssAnon` its own now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", status)[1]) * 1024


class PrivateMemory(threading.Thread):
    """Watches how much memory each contender has for itself, from outside.

    The pages of a library's file are not in it: the system shares them among
    processes, and takes them back when memory runs short.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.peaks = {}

    def watch(self, process):
        self.peaks[process.pid] = 0

    def run(self):
        while True:
            for pid, peak in list(self.peaks.items()):
                try:
                    self.peaks[pid] = max(peak, memory("RssAnon", pid))
                except (OSError, TypeError):  # it has ended
                    continue
            time.sleep(0.01)


def start(name, dtype, backend, arguments, watcher):
    """Starts a contender and waits until it is warm."""
    process = subprocess.Popen(
        [
            *(sys.executable, __file__, "--contend", name, dtype),
            *("--size", arguments.size),
            *("--batch-size", str(arguments.batch_size)),
            *("--length", str(arguments.length)),
            *(["--remat"] if arguments.remat else []),
            *(["--loop"] if arguments.loop else []),
        ],
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    watcher.watch(process)
    answer = json.loads(process.stdout.readline())
    print(f"{name} {backend} {dtype}: ready in {answer['ready']:.0f} s")
    return process


def step(process, count):
    """Lets a contender make some steps; returns its two times of one."""
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def finish(process):
    """Ends a contender; returns the bytes it held at most.

    `peak` in all, `training` beyond what the imports alone took.
    """
    process.stdin.close()
    peaks = json.loads(process.stdout.readline())
    process.wait()
    return peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--backend",
        choices=("tensorflow", "jax", "torch"),
        default="tensorflow",
    )
    parser.add_argument("--size", default="albert_base")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--remat", action="store_true")
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        contend(arguments)
    else:
        compare(arguments)


def compare(arguments):
    """The parent: starts all contenders, steps them in turn, reports."""
    entries = [
        (name, dtype, arguments.backend)
        for name in ("keras_albert", "keras_hub")
        for dtype in PRECISIONS[arguments.backend]
    ]
    entries += [
        ("hugging_face", dtype, "torch") for dtype in PRECISIONS["hugging_face"]
    ]
    watcher = PrivateMemory()
    watcher.start()
    running = {
        entry[:2]: start(*entry, arguments, watcher) for entry in entries
    }
    times = {key: [] for key in running}
    for _ in range(arguments.rounds):
        for key, process in running.items():
            times[key].append(step(process, arguments.steps))
    peaks = {
        key: {**finish(process), "private": watcher.peaks[process.pid]}
        for key, process in running.items()
    }
    report(times, peaks, arguments.batch_size * arguments.length)


def report(times, peaks, tokens):
    """Prints tokens a second, memory, and ours as a ratio to each."""
    own = next(key for key in times if key[0] == "keras_albert")
    print(
        f"{'':32}{'tokens/s':>9}{'peak GB':>9}{'private':>9}{'training':>9}"
        "  ours as a multiple of it"
    )
    for key, records in times.items():
        seconds = statistics.median(r["seconds"] for r in records)
        ratios = [
            other["seconds"] / mine["seconds"]
            for mine, other in zip(times[own], records, strict=True)
        ]
        print(
            f"{' '.join(key):32}{tokens / seconds:9.0f}"
            f"{peaks[key]['peak'] / 1e9:9.2f}"
            f"{peaks[key]['private'] / 1e9:9.2f}"
            f"{peaks[key]['training'] / 1e9:9.2f}"
            f"  speed {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}-{max(ratios):.2f}), "
            f"processor {processor_ratio(times[own], records):.2f}, "
            + ", ".join(
                f"{kind} {peaks[own][kind] / peaks[key][kind]:.2f}"
                for kind in ("peak", "private", "training")
            )
        )


def processor_ratio(own, other):
    """The same ratio by processor time, which a busy machine bends less."""
    return statistics.median(r["processor"] for r in other) / statistics.median(
        r["processor"] for r in own
    )


if __name__ == "__main__":
    main()
