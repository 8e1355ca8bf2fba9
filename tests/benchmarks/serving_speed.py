"""Strings in, answers out: our SavedModel beside `transformers` in PyTorch.

    python -m tests.benchmarks.serving_speed --tokenizer spiece.model \
        --text corpus.txt.gz --folder prepared [--only prepare] \
        [--only single] [--only uniform] [--only paragraphs]

One classifier with random weights is written to `--folder`, unless it is there
already: as our SavedModel in float32 and with weights in bfloat16, as our ONNX
file, and as `transformers` stores it. Each engine has a process of its own and
as many threads as the others; they are asked in turn, one at a time, so that
whatever else the machine does meets all of them. `transformers` pads to the
longest row, and of float32 and bfloat16 autocast the better one counts, which
`--sample` texts decide. ONNX Runtime is fed as `transformers` is, and for
batches once more with a few texts of like length at a time.

    single      one text of 16, 64 and 256 words
    uniform     256 texts, each number of words from 4 to 300 as likely
    paragraphs  256 paragraphs of 4 to 300 words, as the corpus has them

On a machine that does anything else the figures mean nothing: PyTorch's
threads then wait for each other, at several times the cost. Prepare at any
time; with ALBERT-base on two idle cores a round of `uniform` takes some five
minutes, one of `paragraphs` some three, and less with `--engines ours
--engines transformers`. Each round is printed as it ends.

Targets: ours takes at most 0.8 times their time for one text of 16 words and
0.9 times for 64 and 256, and answers at least twice as many texts a second.
"""

import argparse
import gzip
import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np  # noqa: E402

from tests.benchmarks.serving_engines import ONNX  # noqa: E402
from tests.benchmarks.serving_engines import ONNX_SORTED  # noqa: E402
from tests.benchmarks.serving_engines import OURS  # noqa: E402
from tests.benchmarks.serving_engines import SEQUENCE_LENGTH  # noqa: E402
from tests.benchmarks.serving_engines import THEIRS  # noqa: E402
from tests.benchmarks.serving_engines import start_engines  # noqa: E402

PARTS = ("prepare", "single", "uniform", "paragraphs")
ENGINES = {
    "ours": OURS,
    "transformers": THEIRS,
    "onnxruntime": (ONNX, ONNX_SORTED),
}
SINGLE_LENGTHS = (16, 64, 256)
NUM_CLASSES = 2


def prepare(folder, size, tokenizer):
    """Writes one classifier for all engines, or leaves what is there."""
    folder = Path(folder)
    if (folder / "transformers").is_dir():
        return
    import keras_albert as ka
    from keras_albert.conversion import convert
    from keras_albert.export import export_model
    from keras_albert.export import export_token_model

    tokenizer = ka.load_tokenizer(tokenizer)
    backbone = ka.AlbertBackbone.from_size(
        size, vocabulary_size=tokenizer.vocabulary_size()
    )
    model = ka.AlbertTextClassifier(
        backbone,
        num_classes=NUM_CLASSES,
        preprocessor=ka.AlbertTextClassifierPreprocessor(
            tokenizer,
            sequence_length=min(SEQUENCE_LENGTH, backbone.max_sequence_length),
        ),
    )
    for dtype in ("float32", "bfloat16"):
        made = export_model(model, folder / dtype, dtype=dtype, version=1)
        print(f"{dtype}: {made.differences}", flush=True)
        write_tensor_names(made.path)
    made = export_token_model(model, folder / "model", format="onnx", version=1)
    print(f"onnx: differs by {made.difference:.2g} at most", flush=True)
    model.save_to_preset(str(folder / "preset"))
    # Last: its folder says that all is there.
    convert(folder / "preset", folder / "transformers", to="hugging_face")


def write_tensor_names(path):
    """Notes what the session's inputs and outputs are called."""
    from keras_albert.export.saved_graph import read_graph
    from keras_albert.export.saved_graph import signatures_of

    signature = signatures_of(read_graph(path))["serving_default"]
    names = {
        "text": signature.inputs["text"].name,
        "probabilities": signature.outputs["probabilities"].name,
    }
    path.with_name("names.json").write_text(json.dumps(names))


def read_lines(path):
    """Paragraphs of a corpus, one a line, as lists of words."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.split() for line in file.read(10_000_000).splitlines()]


def passages(lines, lengths, seed):
    """Texts of the given numbers of words, from anywhere."""
    words = [word for line in lines for word in line]
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, len(words) - max(lengths), len(lengths))
    return [
        " ".join(words[start : start + length])
        for start, length in zip(starts, lengths, strict=True)
    ]


def mixed_batch(part, lines, options):
    """The texts of a batch."""
    low, high = options.shortest, options.longest
    rng = np.random.default_rng(0)
    if part == "uniform":
        lengths = rng.integers(low, high + 1, options.batch_size)
        return passages(lines, lengths.tolist(), seed=1)
    fitting = [line for line in lines if low <= len(line) <= high]
    picked = rng.choice(len(fitting), options.batch_size, replace=False)
    return [" ".join(fitting[i]) for i in picked]


def compare(engines, texts):
    """Warms up, and prints how far the answers differ.

    Returns:
        Dict without the slower of their two precisions.
    """
    asked = {}
    for _ in range(2):
        for name, engine in engines.items():
            asked[name] = engine.ask(texts)
    judge = THEIRS[0] if THEIRS[0] in asked else OURS[0]
    print(f"\n{len(texts)} texts: largest difference to {judge}")
    for name, (*_, found) in asked.items():
        difference = np.abs(found - asked[judge][2]).max()
        print(f"  {name:24} {difference:.1e}")
    seconds = {name: asked[name][0] for name in THEIRS if name in asked}
    slower = max(seconds, key=seconds.get, default=None)
    return {name: engines[name] for name in engines if name != slower}


def measure(title, engines, batches, num_warm=0):
    """Asks all engines in turn for each batch, and prints each round."""
    print(f"\n{title}", flush=True)
    times = []
    for batch in batches:
        asked = {
            name: engine.ask(batch)[:2] for name, engine in engines.items()
        }
        times.append(list(asked.values()))
        if len(batch) > 1:
            parts = [f"{name} {asked[name][0]:.1f} s" for name in asked]
            print(f"  {', '.join(parts)}", flush=True)
    times = np.array(times[num_warm:]).swapaxes(0, 1)
    report(list(engines), times, len(batches[0]))


def report(names, times, batch_size):
    """Prints medians, and ratios to their better precision with quartiles.

    Args:
        names: list of string.
        times: array of shape (engine, round, clock or processor).
        batch_size: int.
    """
    clock = dict(zip(names, times[..., 0], strict=True))
    theirs = [name for name in THEIRS if name in names]
    best = min(theirs, key=lambda n: np.median(clock[n]), default=None)
    for name, values in zip(names, times, strict=True):
        seconds, processor = np.median(values, 0)
        line = f"  {name:24} {1e3 * seconds:10.1f} ms {processor:8.2f} CPU s"
        if batch_size > 1:
            line += f" {batch_size / seconds:8.2f} texts/s"
        if best is not None:
            ratios, word = clock[name] / clock[best], "time"
            if batch_size > 1:
                ratios, word = 1 / ratios, "texts/s"
            low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
            line += f"   {middle:5.2f} ({low:.2f} to {high:.2f}) x {word}"
        print(line, flush=True)
    if best is not None:
        print(f"  ratios to {best}", flush=True)


def arguments():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--engines", action="append", choices=ENGINES)
    parser.add_argument("--size", default="albert_base")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9, help="single texts")
    parser.add_argument("--rounds", type=int, default=3, help="batches")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--shortest", type=int, default=4, help="words")
    parser.add_argument("--longest", type=int, default=300, help="words")
    parser.add_argument("--sample", type=int, default=24, help="texts")
    return parser.parse_args()


def main():
    """Prepares, starts the engines, asks and prints."""
    options = arguments()
    parts = options.only or PARTS
    prepare(options.folder, options.size, options.tokenizer)
    if parts == ["prepare"]:
        return
    lines = read_lines(options.text)
    chosen = options.engines or ENGINES
    names = [
        name for kind in ENGINES if kind in chosen for name in ENGINES[kind]
    ]
    engines = start_engines(options.folder, names, options.threads)
    sample = mixed_batch("uniform", lines, options)[: options.sample]
    for_batches = compare(engines, sample)
    if "single" in parts:
        for_single = {n: e for n, e in engines.items() if n != ONNX_SORTED}
        for length in SINGLE_LENGTHS:
            lengths = [length] * (options.repeats + 2)
            batches = [[text] for text in passages(lines, lengths, seed=length)]
            measure(f"1 text of {length} words", for_single, batches, 2)
    for part in ("uniform", "paragraphs"):
        if part in parts:
            texts = mixed_batch(part, lines, options)
            count = sum(len(text.split()) for text in texts)
            title = f"{len(texts)} texts, {part}, {count} words in all"
            measure(title, for_batches, [texts] * options.rounds)
    for engine in engines.values():
        engine.end()


if __name__ == "__main__":
    main()
