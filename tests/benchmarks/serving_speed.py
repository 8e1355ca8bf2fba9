"""Strings in, answers out: our SavedModel beside Hugging Face's PyTorch.

    python -m tests.benchmarks.serving_speed --tokenizer spiece.model \
        --text corpus.txt.gz [--size albert_base] [--repeats 9]

Every engine has random weights of one size, a process of its own, and as many
threads as the others; they are asked in turn, one at a time, so that whatever
else the machine does meets all of them. The SavedModel runs in the C++ session
that TensorFlow Serving is built around, in float32 and with weights in
bfloat16. Hugging Face's tokenizer is inside its time, its batches are padded
to the longest row, and of float32 and bfloat16 autocast the better one counts.
ONNX Runtime is asked too where `onnxruntime`, `onnx` and `onnxscript` are
installed. On a machine that does anything else the figures mean nothing:
PyTorch's threads then wait for each other, at several times the cost.

Targets: ours takes at most 0.8 times Hugging Face's time for one text of 16
words, 0.9 times for 64 and 256, and half for a batch of 256 texts of 1 to 400
words.
"""

import argparse
import gzip
import importlib.util
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import numpy as np

NUM_CLASSES = 2
OURS = ("ours float32", "ours bfloat16")
THEIRS = ("transformers float32", "transformers autocast")
ONNX = "onnxruntime float32"
SEQUENCE_LENGTH = 512


class SavedModelEngine:
    """An export in the server's C++ session.

    Args:
        folder: path of the version.
        num_threads: int.
    """

    def __init__(self, folder, num_threads):
        from keras_albert.export.fresh_process import ServerSession
        from keras_albert.export.session_calls import server_libraries

        self._names = json.loads(Path(folder, "..", "names.json").read_text())
        # The session takes its number of threads from the cores it may use.
        os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:num_threads])
        self._session = ServerSession(str(folder), server_libraries())

    def answer(self, texts):
        values = np.array([text.encode() for text in texts], object)
        (found,) = self._session.run(
            {self._names["text"]: values}, [self._names["probabilities"]]
        )
        return found


class TorchEngine:
    """`transformers`, tokenizer included.

    Args:
        config: dict, arguments of `AlbertConfig`.
        tokenizer: path of a SentencePiece model.
        num_threads: int.
        autocast: bool. Whether to compute in bfloat16.
    """

    def __init__(self, config, tokenizer, num_threads, autocast):
        import torch

        torch.set_num_threads(num_threads)
        self._torch = torch
        self._autocast = autocast
        self._tokenizer = torch_tokenizer(tokenizer)
        self._model = torch_model(config)

    def answer(self, texts):
        torch = self._torch
        with (
            torch.inference_mode(),
            torch.autocast("cpu", torch.bfloat16, enabled=self._autocast),
        ):
            inputs = encode(self._tokenizer, texts, "pt")
            logits = self._model(**inputs).logits.float()
            return torch.softmax(logits, -1).numpy()


class OnnxEngine:
    """The PyTorch model in ONNX Runtime, the same tokenizer included.

    Args:
        config: dict, arguments of `AlbertConfig`.
        tokenizer: path of a SentencePiece model.
        num_threads: int.
    """

    def __init__(self, config, tokenizer, num_threads):
        import onnxruntime
        import torch

        self._tokenizer = torch_tokenizer(tokenizer)
        model = torch_model(config)
        inputs = encode(self._tokenizer, ["a text", "another text"], "pt")
        names = list(inputs)
        axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.onnx"))
            torch.onnx.export(
                model,
                kwargs=dict(inputs),
                f=path,
                input_names=names,
                output_names=["logits"],
                dynamic_shapes=dict.fromkeys(names, axes),
                dynamo=True,
                verbose=False,
            )
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = num_threads
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )

    def answer(self, texts):
        inputs = encode(self._tokenizer, texts, "np")
        (logits,) = self._session.run(["logits"], dict(inputs))
        exponents = np.exp(logits - logits.max(-1, keepdims=True))
        return exponents / exponents.sum(-1, keepdims=True)


def torch_tokenizer(path):
    """`transformers`' own tokenizer, in Rust where there is one."""
    from transformers import AlbertTokenizer

    return AlbertTokenizer.from_pretrained(str(path))


def torch_model(config):
    """A classifier with random weights."""
    from transformers import AlbertConfig
    from transformers import AlbertForSequenceClassification

    config = AlbertConfig(**config, num_labels=NUM_CLASSES)
    return AlbertForSequenceClassification(config).eval()


def encode(tokenizer, texts, kind):
    """Tokenizes and pads to the longest."""
    return tokenizer(
        texts,
        padding="longest",
        truncation=True,
        max_length=SEQUENCE_LENGTH,
        return_tensors=kind,
    )


def serve(make, arguments, pipe):
    """A process's loop: texts in, seconds and answers out."""
    engine = make(*arguments)
    pipe.send("ready")
    while (texts := pipe.recv()) is not None:
        processor, start = time.process_time(), time.perf_counter()
        found = engine.answer(texts)
        seconds = time.perf_counter() - start
        pipe.send((seconds, time.process_time() - processor, len(found)))


class Process:
    """An engine in a process of its own.

    Args:
        make: class of the engine.
        arguments: tuple of its arguments.
    """

    def __init__(self, make, *arguments):
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(
            target=serve, args=(make, arguments, other), daemon=True
        )
        self._process.start()
        other.close()
        self._pipe.recv()

    def ask(self, texts):
        """Seconds by the clock and of the processor for one batch."""
        self._pipe.send(texts)
        seconds, processor, count = self._pipe.recv()
        assert count == len(texts)
        return seconds, processor

    def end(self):
        self._pipe.send(None)
        self._process.join()


def make_texts(words, lengths, seed):
    """Passages of the given numbers of words."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, len(words) - max(lengths), len(lengths))
    return [
        " ".join(words[start : start + length])
        for start, length in zip(starts, lengths, strict=True)
    ]


def make_cases(words, repeats, batch_size, longest):
    """Name, batches to warm up with, and one batch for each repeat."""
    cases = {}
    for length in (16, 64, 256):
        length = min(length, longest)
        texts = make_texts(words, [length] * (repeats + 2), seed=length)
        cases[f"1 text of {length} words"] = [[text] for text in texts]
    rng = np.random.default_rng(0)
    uniform = rng.integers(1, longest + 1, batch_size)
    skewed = np.exp(rng.uniform(0, np.log(longest), batch_size)).astype(int)
    for name, lengths in (("uniform", uniform), ("log-uniform", skewed)):
        texts = make_texts(words, lengths.tolist(), seed=1)
        title = f"{batch_size} texts, 1 to {longest} words, {name}"
        # Few, as one takes a minute or more.
        cases[title] = [texts] * (1 + min(repeats, 3))
    return cases


def measure(engines, batches, num_warm):
    """Asks all engines in turn; an array of (engine, repeat, clock or CPU)."""
    for batch in batches[:num_warm]:
        for engine in engines.values():
            engine.ask(batch)
    times = [
        [engine.ask(batch) for engine in engines.values()]
        for batch in batches[num_warm:]
    ]
    return np.array(times).swapaxes(0, 1)


def write_exports(size, tokenizer, folder):
    """Exports one classifier in float32 and in bfloat16."""
    import keras_albert as ka
    from keras_albert.export import export_model
    from keras_albert.export.saved_graph import read_graph
    from keras_albert.export.saved_graph import signatures_of

    tokenizer = ka.load_tokenizer(tokenizer)
    backbone = ka.AlbertBackbone.from_size(
        size, vocabulary_size=tokenizer.vocabulary_size()
    )
    model = ka.AlbertTextClassifier(
        backbone,
        num_classes=NUM_CLASSES,
        preprocessor=ka.AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=SEQUENCE_LENGTH
        ),
    )
    paths = []
    for dtype in ("float32", "bfloat16"):
        made = export_model(model, Path(folder, dtype), dtype=dtype)
        print(f"{dtype}: {made.differences}", flush=True)
        signature = signatures_of(read_graph(made.path))["serving_default"]
        names = {
            "text": signature.inputs["text"].name,
            "probabilities": signature.outputs["probabilities"].name,
        }
        made.path.with_name("names.json").write_text(json.dumps(names))
        paths.append(str(made.path))
    config = {
        "vocab_size": tokenizer.vocabulary_size(),
        "embedding_size": backbone.embedding_dim,
        "hidden_size": backbone.hidden_dim,
        "num_hidden_layers": backbone.num_layers,
        "num_attention_heads": backbone.num_heads,
        "intermediate_size": backbone.intermediate_dim,
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    return paths, config


def start_engines(paths, config, tokenizer, num_threads):
    """Starts a process for each engine."""
    engines = {
        name: Process(SavedModelEngine, path, num_threads)
        for name, path in zip(OURS, paths, strict=True)
    }
    for name, autocast in zip(THEIRS, (False, True), strict=True):
        engines[name] = Process(
            TorchEngine, config, tokenizer, num_threads, autocast
        )
    needed = ("onnxruntime", "onnx", "onnxscript")
    if all(importlib.util.find_spec(name) for name in needed):
        engines[ONNX] = Process(OnnxEngine, config, tokenizer, num_threads)
    else:
        print(f"{ONNX}: not installed ({', '.join(needed)})")
    return engines


def report(case, names, times):
    """Prints a case: milliseconds, and ratios to the better of theirs."""
    clock = dict(zip(names, times[..., 0], strict=True))
    best = min(THEIRS, key=lambda name: np.median(clock[name]))
    print(f"\n{case}; ratios to {best}")
    for name, values in zip(names, times, strict=True):
        ratios = clock[name] / clock[best]
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        milliseconds, processor = 1e3 * np.median(values, 0)
        print(
            f"  {name:24} {milliseconds:10.1f} ms {processor:10.1f} CPU ms   "
            f"{middle:5.2f} ({low:.2f} to {high:.2f})",
            flush=True,
        )


def main():
    """Exports, starts the engines, asks and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--size", default="albert_base")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--longest", type=int, default=400, help="words")
    options = parser.parse_args()
    opened = gzip.open if options.text.suffix == ".gz" else open
    with opened(options.text, "rt", encoding="utf-8") as file:
        words = file.read(10_000_000).split()
    with tempfile.TemporaryDirectory() as folder:
        paths, config = write_exports(options.size, options.tokenizer, folder)
        engines = start_engines(
            paths, config, options.tokenizer, options.threads
        )
        cases = make_cases(
            words, options.repeats, options.batch_size, options.longest
        )
        for case, batches in cases.items():
            num_warm = 2 if len(batches[0]) == 1 else 1
            times = measure(engines, batches, num_warm)
            report(case, list(engines), times)
        for engine in engines.values():
            engine.end()


if __name__ == "__main__":
    main()
