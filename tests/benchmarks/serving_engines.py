"""Who is asked in `serving_speed`: one model, each engine in its own process.

All have the same weights. Strings go in and probabilities come out, so that
each engine's tokenizer is inside its time.
"""

import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np

OURS = ("ours float32", "ours bfloat16")
THEIRS = ("transformers float32", "transformers autocast")
ONNX = "onnxruntime float32"
# The same, but in small batches of texts of like length.
ONNX_SORTED = "onnxruntime sorted"
SORTED_BATCH_SIZE = 16
SEQUENCE_LENGTH = 512
THEIR_NAMES = {
    "input_ids": "token_ids",
    "token_type_ids": "segment_ids",
    "attention_mask": "padding_mask",
}


class SavedModelEngine:
    """An export in the C++ session that TensorFlow Serving is built around.

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
    """`transformers`: its tokenizer, and padding to the longest row.

    Args:
        folder: path that holds the model as `transformers` stores it.
        num_threads: int.
        autocast: bool. Whether to compute in bfloat16.
    """

    def __init__(self, folder, num_threads, autocast):
        import torch
        from transformers import AlbertForSequenceClassification

        torch.set_num_threads(num_threads)
        self._torch = torch
        self._autocast = autocast
        self._tokenizer = their_tokenizer(folder)
        self._model = AlbertForSequenceClassification.from_pretrained(folder)
        self._model.eval()

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
    """Our ONNX file in ONNX Runtime, with the tokenizer of `transformers`.

    Args:
        model_file: path.
        folder: path that holds the tokenizer.
        num_threads: int.
        sort: bool. Whether to ask for `SORTED_BATCH_SIZE` texts of like
            length at a time instead of all in one batch.
    """

    def __init__(self, model_file, folder, num_threads, sort):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            model_file, options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = their_tokenizer(folder)
        self._sort = sort

    def answer(self, texts):
        if not self._sort:
            return self._ask(texts)
        # Characters are as good as tokens here, and known already.
        order = np.argsort([len(text) for text in texts])
        parts = [
            order[start : start + SORTED_BATCH_SIZE]
            for start in range(0, len(order), SORTED_BATCH_SIZE)
        ]
        found = [self._ask([texts[i] for i in part]) for part in parts]
        return np.concatenate(found)[np.argsort(order)]

    def _ask(self, texts):
        inputs = encode(self._tokenizer, texts, "np")
        feeds = {
            ours: inputs[theirs].astype("int32")
            for theirs, ours in THEIR_NAMES.items()
        }
        return self._session.run(["probabilities"], feeds)[0]


def their_tokenizer(folder):
    """`transformers`' own tokenizer, in Rust."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def encode(tokenizer, texts, kind):
    """Tokenizes and pads to the longest."""
    return tokenizer(
        texts,
        padding="longest",
        truncation=True,
        max_length=SEQUENCE_LENGTH,
        return_tensors=kind,
        return_token_type_ids=True,
    )


def serve(make, arguments, pipe):
    """A process's loop: texts in, seconds and answers out."""
    engine = make(*arguments)
    pipe.send("ready")
    while (texts := pipe.recv()) is not None:
        processor, start = time.process_time(), time.perf_counter()
        found = engine.answer(texts)
        seconds = time.perf_counter() - start
        pipe.send((seconds, time.process_time() - processor, found))


class Process:
    """An engine in a process of its own.

    Args:
        make: class of the engine.
        *arguments: what it takes.
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
        """Seconds by the clock, seconds of the processor, and the answers."""
        self._pipe.send(texts)
        return self._pipe.recv()

    def end(self):
        self._pipe.send(None)
        self._process.join()


def start_engines(folder, names, num_threads):
    """Starts a process for each engine.

    Args:
        folder: path of what `serving_speed.prepare` wrote.
        names: list of string.
        num_threads: int.

    Returns:
        Dict from name to `Process`.
    """
    folder = Path(folder)
    theirs = str(folder / "transformers")
    onnx = str(folder / "model" / "onnx" / "1" / "model.onnx")
    ours = [str(folder / dtype / "1") for dtype in ("float32", "bfloat16")]
    made = {
        OURS[0]: (SavedModelEngine, ours[0], num_threads),
        OURS[1]: (SavedModelEngine, ours[1], num_threads),
        THEIRS[0]: (TorchEngine, theirs, num_threads, False),
        THEIRS[1]: (TorchEngine, theirs, num_threads, True),
        ONNX: (OnnxEngine, onnx, theirs, num_threads, False),
        ONNX_SORTED: (OnnxEngine, onnx, theirs, num_threads, True),
    }
    return {name: Process(*made[name]) for name in names}
