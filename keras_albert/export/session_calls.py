"""Calls of a SavedModel's signatures, made in a process of its own."""

import importlib.util
import json
import tempfile
from pathlib import Path

from keras_albert.export.child_process import run_python
from keras_albert.export.fresh_process import decode
from keras_albert.export.fresh_process import encode
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.saved_graph import signatures_of

# Registered by libraries that servers before 2.20 do not link.
NEWER_TEXT_LIBRARIES = ("_trimmer_ops", "_utf8_binarize_op")


def call_signatures(folder, calls):
    """Answers as TensorFlow Serving would.

    Args:
        folder: path that holds `saved_model.pb`.
        calls: list of `(signature, inputs)`, `inputs` a dict from name to an
            array; strings are arrays of bytes with the dtype `object`.

    Returns:
        For each call a dict from the output's name to an array.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if a signature or input is missing, or the SavedModel does
            not load or run; with TensorFlow's message.
    """
    signatures = signatures_of(read_graph(folder))
    planned = [_plan(signatures, *call) for call in calls]
    answers = _run(
        {
            "folder": str(Path(folder).resolve()),
            "libraries": server_libraries(),
            "calls": [
                {"feeds": feeds, "fetches": list(fetches.values())}
                for feeds, fetches in planned
            ],
        }
    )
    return [
        dict(zip(fetches, map(decode, values), strict=True))
        for (_, fetches), values in zip(planned, answers, strict=True)
    ]


def _plan(signatures, name, inputs):
    if name not in signatures:
        raise ValueError(
            f"The SavedModel has no signature {name!r}. It has "
            f"{', '.join(sorted(signatures))}."
        )
    signature = signatures[name]
    if set(inputs) != set(signature.inputs):
        raise ValueError(
            f"The signature {name!r} takes the inputs "
            f"{', '.join(signature.inputs)}. Received: {', '.join(inputs)}."
        )
    feeds = {
        signature.inputs[key].name: encode(value)
        for key, value in inputs.items()
    }
    return feeds, {key: info.name for key, info in signature.outputs.items()}


def server_libraries():
    """Finds TensorFlow's C++ libraries in its wheel.

    Returns:
        `{"core": [paths], "text": [paths]}`, or `None` where the wheel has
        none, as on other systems than Linux.
    """
    core = Path(*_folder("tensorflow"))
    names = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
    libraries = [core / name for name in names]
    if not all(path.is_file() for path in libraries):
        return None
    text = Path(*_folder("tensorflow_text"), "python", "ops")
    return {
        "core": [str(path) for path in libraries],
        "text": [
            str(path)
            for path in sorted(text.glob("*.so"))
            if path.stem not in NEWER_TEXT_LIBRARIES
        ],
    }


def _folder(package):
    return importlib.util.find_spec(package).submodule_search_locations[:1]


def _run(request):
    script = Path(__file__).with_name("fresh_process.py")
    with tempfile.TemporaryDirectory() as folder:
        question, reply = Path(folder, "request.json"), Path(folder, "reply")
        question.write_text(json.dumps(request))
        # -P keeps this folder, and with it our module names, off sys.path.
        run_python(
            ["-P", str(script), str(question), str(reply)],
            f"The SavedModel in {request['folder']} does not run in a fresh "
            "process",
            TF_CPP_MIN_LOG_LEVEL="3",
        )
        return json.loads(reply.read_text())
