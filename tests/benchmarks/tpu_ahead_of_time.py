"""A TPU's training step compiled without a TPU, beside keras-hub's.

    pip install ".[tpu]"
    python tests/benchmarks/tpu_ahead_of_time.py

ALBERT-base, 32 x 512 tokens a core on v5e:2x2, bfloat16, 77 predictions an
example, LAMB. Four programs, each compiled in a process of its own: keras-hub's
`AlbertMaskedLM` (masked words alone, as it has no second head), ours unrolled,
ours as a loop, ours as a loop that computes activations twice. Times are the
processor's, so that other work on the machine matters little.

The compiler counts the body of a loop once: compare bytes of unrolled programs.
"""

import argparse
import json
import os
import subprocess
import sys

TARGETS = {
    "unrolled": {"bytes": 0.80, "temporaries": 0.65},
    "loop, recomputed": {"temporaries": 0.15, "compile time": 0.60},
}
VARIANTS = {
    "keras-hub": None,
    "unrolled": {},
    "loop": {"unroll": False},
    "loop, recomputed": {"unroll": False, "remat": True},
}
GIB = 2**30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topology", default="v5e:2x2")
    parser.add_argument("--batch-per-core", type=int, default=32)
    parser.add_argument("--sequence-length", type=int, default=512)
    parser.add_argument("--num-layers", type=int, default=12)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(compiled(arguments)))
        return
    found = {}
    for name in arguments.variants:
        found[name] = in_own_process(name)
        print_row(name, found[name], found.get("keras-hub"))
    print_targets(found)


def in_own_process(name):
    """Compiles one variant with nothing else in memory or in caches."""
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        [sys.executable, *sys.argv, "--only", name],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def compiled(arguments):
    """Returns the compiler's figures of one variant as a dict."""
    import dataclasses

    from keras_albert.training.plan_chips import parse_topology
    from keras_albert.training.plan_compile import batch_shapes
    from keras_albert.training.plan_compile import compiled_costs
    from keras_albert.training.plan_compile import topology_devices

    devices = topology_devices(parse_topology(arguments.topology))
    batch = batch_shapes(
        arguments.batch_per_core * len(devices), arguments.sequence_length
    )
    changes = VARIANTS[arguments.only]
    if changes is None:
        model = their_model(arguments.num_layers)
        # One head: targets and weights are not dicts.
        inputs, targets, weights = batch
        batch = inputs, targets["masked_lm"], weights["masked_lm"]
    else:
        model = our_model(arguments, len(devices), changes)
    return dataclasses.asdict(compiled_costs(model, batch, devices))


def our_model(arguments, num_cores, changes):
    """The model of `pretrain`, with the optimizer of its published recipe."""
    from keras_albert.models.config import AlbertConfig
    from keras_albert.models.sizes import backbone_arguments
    from keras_albert.training.plan_settings import planned_settings
    from keras_albert.training.run_model import make_run_model

    config = backbone_arguments("albert_base")
    config["num_layers"] = arguments.num_layers
    settings = planned_settings(
        config=AlbertConfig(**config),
        batch_size=arguments.batch_per_core * num_cores,
        sequence_length=arguments.sequence_length,
        optimizer="lamb",
        steps=1000,
        dtype="mixed_bfloat16",
        **changes,
    )
    return make_run_model(settings, tokenizer=None)


def their_model(num_layers):
    """keras-hub's masked language model, of the same size and optimizer."""
    import keras
    import keras_hub

    from keras_albert.training.recipes import make_optimizer

    backbone = keras_hub.models.AlbertBackbone(
        vocabulary_size=30000,
        num_layers=num_layers,
        num_heads=12,
        embedding_dim=128,
        hidden_dim=768,
        intermediate_dim=3072,
        dropout=0.0,
        max_sequence_length=512,
        dtype="mixed_bfloat16",
    )
    model = keras_hub.models.AlbertMaskedLM(backbone, preprocessor=None)
    model.compile(
        optimizer=make_optimizer("lamb", 1e-3, steps=1000),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    return model


def ratios(costs, theirs):
    """Ours over theirs, by the names of `TARGETS`."""
    return {
        "bytes": costs["bytes_accessed"] / theirs["bytes_accessed"],
        "temporaries": costs["temporary_bytes"] / theirs["temporary_bytes"],
        "compile time": costs["cpu_seconds"] / theirs["cpu_seconds"],
    }


def print_row(name, costs, theirs):
    print(
        f"{name:18}{costs['flops']:11.3e} FLOP"
        f"{costs['bytes_accessed']:11.3e} bytes"
        f"{costs['temporary_bytes'] / GIB:7.2f} GiB of temporaries"
        f"{costs['cpu_seconds']:7.1f} s to compile",
        flush=True,
    )
    if theirs is not None and name != "keras-hub":
        parts = ratios(costs, theirs).items()
        print(" " * 18 + ", ".join(f"{k} × {v:.2f}" for k, v in parts))


def print_targets(found):
    if "keras-hub" not in found:
        return
    for name, targets in TARGETS.items():
        if name not in found:
            continue
        reached = ratios(found[name], found["keras-hub"])
        for what, target in targets.items():
            verdict = "reached" if reached[what] <= target else "MISSED"
            print(
                f"{name}: {what} × {reached[what]:.3f}, "
                f"target × {target:.2f}: {verdict}"
            )


if __name__ == "__main__":
    main()
