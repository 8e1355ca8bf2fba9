"""Deepening while training against full depth throughout, on equal data.

    python tests/benchmarks/depth_schedule.py --text train_0.txt.gz \
        --held-out valid.txt.gz --tokenizer spiece.model --output depth

Both runs of a seed start from the same weights and see the same batches; only
the number of layer calls differs, and the peak rate where another one is given
for full depth. Compared is the held-out masked-LM loss after the last step,
where the rate is zero in both, against the operations spent on all steps.
"""

import argparse
import json
import os
import statistics
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

MODEL = {
    "num_layers": 12,
    "num_heads": 2,
    "embedding_dim": 64,
    "hidden_dim": 128,
    "intermediate_dim": 512,
    "max_sequence_length": 64,
    "initializer_range": 0.05,
}
FULL = "64:100%"
TARGET = 0.7


def spent(history, phases, arguments, vocabulary_size):
    """The operations that were spent by each record of a history."""
    from keras_albert.training.phases import parse_phases
    from keras_albert.training.phases import phase_spans
    from keras_albert.training.run_costs import RunCosts

    spans = phase_spans(
        parse_phases(phases), arguments.steps, arguments.batch_size
    )
    costs = RunCosts(spans, {**MODEL, "vocabulary_size": vocabulary_size})
    whole = costs.flops_left(0)
    return [whole - costs.flops_left(record["step"]) for record in history]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--phases", default="64@3:40%,64@6:30%,64@12:30%")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument(
        "--full-learning-rate",
        type=float,
        help="Peak rate at full depth, where another suits it better.",
    )
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()

    import keras_albert as ka

    vocabulary_size = ka.load_tokenizer(arguments.tokenizer).vocabulary_size()
    rows = []
    for seed in range(arguments.seeds):
        row = {"seed": seed}
        for name, phases, rate in (
            ("full", FULL, arguments.full_learning_rate),
            ("schedule", arguments.phases, None),
        ):
            result = ka.training.pretrain(
                corpus=arguments.text,
                evaluation_corpus=arguments.held_out,
                evaluation_passes=3,
                tokenizer=arguments.tokenizer,
                output=arguments.output / f"{name}-{seed}",
                config=MODEL,
                steps=arguments.steps,
                batch_size=arguments.batch_size,
                phases=phases,
                learning_rate=rate or arguments.learning_rate,
                evaluation_every=max(1, arguments.steps // 10),
                seed=seed,
            )
            row[name] = {
                "loss": [r["val_masked_lm_loss"] for r in result.history],
                "flops": spent(
                    result.history, phases, arguments, vocabulary_size
                ),
                "floor": result.masked_lm_floor,
            }
            print(
                f"seed {seed} {name:>8}: "
                f"{row[name]['loss'][-1]:.3f} nats "
                f"(floor {result.masked_lm_floor:.3f}) after "
                f"{row[name]['flops'][-1]:.2e} operations",
                flush=True,
            )
        rows.append(row)
        (arguments.output / "rows.json").write_text(json.dumps(rows))
    report(rows)


def report(rows):
    """Prints the share of the operations and the difference of the losses."""
    shares = [r["schedule"]["flops"][-1] / r["full"]["flops"][-1] for r in rows]
    gains = [r["full"]["loss"][-1] - r["schedule"]["loss"][-1] for r in rows]
    print(f"operations: {shares[0]:.2f} of full depth (asked: {TARGET})")
    print(
        "held-out loss, full depth minus schedule: "
        f"{statistics.mean(gains):+.3f} nats "
        f"({min(gains):+.3f} to {max(gains):+.3f})"
    )


if __name__ == "__main__":
    main()
