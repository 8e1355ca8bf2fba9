"""Runs a SavedModel in a process of its own, as TensorFlow Serving runs it.

`python -P fresh_process.py request.json reply.json`, with no import of
keras_albert, Keras or keras-hub: what works here works for anyone who is
given the folder. The server is built around the C++ functions that are inside
TensorFlow's wheel, `LoadSavedModel` and `Session::Run`; they are called here
through the C API, without TensorFlow's Python, with XLA switched off as the
stock server has it, and with the operations of TensorFlow Text that the
oldest supported server links.

Requests and replies are JSON; strings travel as base64, as they may be any
bytes. Where the wheel has no C++ library, `libraries` is null and TensorFlow's
Python session runs the same graph.
"""

import base64
import ctypes
import json
import sys

import numpy as np

STRING = 7
# Numbers of the C API's TF_DataType.
NUMBERS = {"float32": 1, "int32": 3, "int64": 9, "bool": 10}
DTYPES = {number: name for name, number in NUMBERS.items()}
TSTRING_BYTES = 24


class Output(ctypes.Structure):
    """An operation's output, `TF_Output`."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class ServerSession:
    """A SavedModel in the C++ session of the server.

    Args:
        folder: string. It holds `saved_model.pb`.
        libraries: dict with the paths of TensorFlow's libraries, `core`, in
            the order to load them, and of those with operations, `text`.

    Raises:
        RuntimeError: with TensorFlow's message, here and in `run`.
    """

    def __init__(self, folder, libraries):
        loaded = [
            # TensorFlow Text looks up TensorFlow's symbols globally.
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            for path in libraries["core"]
        ]
        self._c = loaded[-1]
        self._declare()
        # `DisableXlaCompilation()`, which the server's `main` calls.
        self._c._ZN10tensorflow21DisableXlaCompilationEv()
        self._status = self._c.TF_NewStatus()
        for path in libraries["text"]:
            self._c.TF_LoadLibrary(path.encode(), self._status)
            self._check()
        self._graph = self._c.TF_NewGraph()
        tags = (ctypes.c_char_p * 1)(b"serve")
        self._session = self._c.TF_LoadSessionFromSavedModel(
            self._c.TF_NewSessionOptions(),
            None,
            folder.encode(),
            tags,
            1,
            self._graph,
            None,
            self._status,
        )
        self._check()

    def _declare(self):
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        returned = {
            "TF_AllocateTensor": pointer,
            "TF_Dim": ctypes.c_int64,
            "TF_GraphOperationByName": pointer,
            "TF_LoadLibrary": pointer,
            "TF_LoadSessionFromSavedModel": pointer,
            "TF_Message": ctypes.c_char_p,
            "TF_NewGraph": pointer,
            "TF_NewSessionOptions": pointer,
            "TF_NewStatus": pointer,
            "TF_StringGetDataPointer": pointer,
            "TF_StringGetSize": size,
            "TF_TensorByteSize": size,
            "TF_TensorData": pointer,
        }
        for name, kind in returned.items():
            getattr(self._c, name).restype = kind
        taken = {
            "TF_AllocateTensor": [ctypes.c_int, pointer, ctypes.c_int, size],
            "TF_DeleteTensor": [pointer],
            "TF_Dim": [pointer, ctypes.c_int],
            "TF_GetCode": [pointer],
            "TF_GraphOperationByName": [pointer, ctypes.c_char_p],
            "TF_LoadLibrary": [ctypes.c_char_p, pointer],
            "TF_LoadSessionFromSavedModel": [
                *(pointer, pointer, ctypes.c_char_p, pointer, ctypes.c_int),
                *(pointer, pointer, pointer),
            ],
            "TF_Message": [pointer],
            "TF_NumDims": [pointer],
            "TF_SessionRun": [
                *(pointer, pointer, pointer, pointer, ctypes.c_int),
                *(pointer, pointer, ctypes.c_int),
                *(pointer, ctypes.c_int, pointer, pointer),
            ],
            "TF_StringCopy": [pointer, ctypes.c_char_p, size],
            "TF_StringGetDataPointer": [pointer],
            "TF_StringGetSize": [pointer],
            "TF_StringInit": [pointer],
            "TF_TensorByteSize": [pointer],
            "TF_TensorData": [pointer],
            "TF_TensorType": [pointer],
        }
        for name, kinds in taken.items():
            getattr(self._c, name).argtypes = kinds

    def _check(self):
        if self._c.TF_GetCode(self._status):
            message = self._c.TF_Message(self._status)
            raise RuntimeError(message.decode("utf-8", "replace"))

    def run(self, feeds, fetches):
        """Runs the graph once.

        Args:
            feeds: dict from a tensor's name, such as `"x:0"`, to an array;
                arrays of bytes have the dtype `object`.
            fetches: list of names.

        Returns:
            List of arrays.
        """
        values = [self._tensor(array) for array in feeds.values()]
        results = (ctypes.c_void_p * len(fetches))()
        self._c.TF_SessionRun(
            self._session,
            None,
            self._outputs(feeds),
            (ctypes.c_void_p * len(values))(*values),
            len(values),
            self._outputs(fetches),
            results,
            len(fetches),
            *(None, 0, None),
            self._status,
        )
        for value in values:
            self._c.TF_DeleteTensor(value)
        self._check()
        return [self._array(result) for result in results]

    def _outputs(self, names):
        outputs = (Output * len(names))()
        for output, name in zip(outputs, names, strict=True):
            operation, _, index = name.partition(":")
            found = self._c.TF_GraphOperationByName(
                self._graph, operation.encode()
            )
            if not found:
                raise RuntimeError(f"The graph has no operation {operation}.")
            output.operation, output.index = found, int(index)
        return outputs

    def _tensor(self, array):
        number = STRING if array.dtype == object else NUMBERS[array.dtype.name]
        size = array.size * TSTRING_BYTES if number == STRING else array.nbytes
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor = self._c.TF_AllocateTensor(number, shape, array.ndim, size)
        data = self._c.TF_TensorData(tensor)
        if number == STRING:
            for place, text in enumerate(array.reshape(-1)):
                string = data + place * TSTRING_BYTES
                self._c.TF_StringInit(string)
                self._c.TF_StringCopy(string, text, len(text))
        elif size:
            ctypes.memmove(data, np.ascontiguousarray(array).ctypes.data, size)
        return tensor

    def _array(self, tensor):
        number = self._c.TF_TensorType(tensor)
        rank = self._c.TF_NumDims(tensor)
        shape = [self._c.TF_Dim(tensor, axis) for axis in range(rank)]
        data = self._c.TF_TensorData(tensor)
        if number == STRING:
            count = int(np.prod(shape))
            texts = [self._text(data + i * TSTRING_BYTES) for i in range(count)]
            array = np.empty(count, object)
            array[:] = texts
            array = array.reshape(shape)
        else:
            size = self._c.TF_TensorByteSize(tensor)
            content = ctypes.string_at(data, size) if size else b""
            array = np.frombuffer(content, DTYPES[number]).reshape(shape)
        self._c.TF_DeleteTensor(tensor)
        return array

    def _text(self, string):
        size = self._c.TF_StringGetSize(string)
        start = self._c.TF_StringGetDataPointer(string)
        return ctypes.string_at(start, size) if size else b""


class PythonSession:
    """The same through TensorFlow's Python, for wheels without C++ libraries.

    Args:
        folder: string. It holds `saved_model.pb`.
    """

    def __init__(self, folder):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  (registers its operations)

        options = tf.compat.v1.ConfigProto()
        options.graph_options.optimizer_options.global_jit_level = (
            tf.compat.v1.OptimizerOptions.OFF
        )
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=options)
        with self._session.graph.as_default():
            tf.compat.v1.saved_model.load(self._session, ["serve"], folder)

    def run(self, feeds, fetches):
        """Runs the graph once, see `ServerSession.run`."""
        return [
            np.asarray(value)
            for value in self._session.run(list(fetches), feeds)
        ]


def decode(value):
    """Makes an array of `{"dtype", "shape", "values"}`."""
    if value["dtype"] == "string":
        texts = [base64.b64decode(text) for text in value["values"]]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array.reshape(value["shape"])
    return np.array(value["values"], value["dtype"]).reshape(value["shape"])


def encode(array):
    """Makes `{"dtype", "shape", "values"}`; bytes become base64."""
    values = array.reshape(-1).tolist()
    dtype = array.dtype.name
    if array.dtype == object:
        dtype = "string"
        values = [base64.b64encode(value).decode() for value in values]
    return {"dtype": dtype, "shape": list(array.shape), "values": values}


def answer(request):
    """Loads the folder of a request and answers its calls.

    Args:
        request: dict with `folder`, `libraries` (or `None`) and `calls`: a
            list of `{"feeds": {tensor: value}, "fetches": [tensor]}`.

    Returns:
        For each call the list of the fetched values.
    """
    folder, libraries = request["folder"], request["libraries"]
    if libraries is None:
        session = PythonSession(folder)
    else:
        session = ServerSession(folder, libraries)
    answers = []
    for call in request["calls"]:
        feeds = {name: decode(value) for name, value in call["feeds"].items()}
        found = session.run(feeds, call["fetches"])
        answers.append([encode(array) for array in found])
    return answers


def main(request_file, reply_file):
    """Answers a request file with a reply file."""
    with open(request_file) as file:
        request = json.load(file)
    answers = answer(request)
    with open(reply_file, "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
