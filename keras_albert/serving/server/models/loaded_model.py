"""A SavedModel in memory, run as TensorFlow Serving runs it."""

import contextlib
import os
import threading
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.saved_model.loader_impl import SavedModelLoader

from keras_albert.export.server_operations import unservable_operations
from keras_albert.serving.protocol.signatures import DEFAULT_SIGNATURE
from keras_albert.serving.protocol.signatures import signature_from_message
from keras_albert.serving.protocol.statuses import ServingError

INIT_OPERATION = "__saved_model_init_op"


class LoadedModel:
    """The graph of one version in a session.

    Nothing here knows what the model is: signatures come from the SavedModel,
    and TensorFlow Text is loaded where the graph needs it.

    Args:
        folder: the version's folder, with `saved_model.pb` in it.

    Raises:
        ServingError: NOT_FOUND, if the SavedModel or one of its operations
            does not exist; other codes as TensorFlow gives them.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        saved = _read(self.folder)
        operations = graph_operations(saved)
        _register(operations)
        #: Operations that TensorFlow Serving would refuse.
        self.unservable = unservable_operations(_origins(operations))
        with _tensorflow_errors():
            self._load()
        self._callables = {}
        self._preparing = threading.Lock()
        self._lock = threading.Condition()
        self._running = 0
        self._closed = False

    def _load(self):
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._session = tf.compat.v1.Session(
                graph=self._graph, config=_session_options()
            )
            try:
                loader = SavedModelLoader(os.fspath(self.folder))
                loaded = loader.load(self._session, ["serve"])
            except BaseException:
                self._session.close()
                raise
        #: Dict from name to `SignatureDef`, as metadata shows them.
        self.signature_messages = dict(loaded.signature_def)
        self._signatures = {
            name: signature_from_message(name, message)
            for name, message in loaded.signature_def.items()
        }

    def signature(self, name):
        """Finds a signature; an empty name is `serving_default`.

        Returns:
            `Signature`, or `None`.
        """
        return self._signatures.get(name or DEFAULT_SIGNATURE)

    def run(self, signature, tensors, outputs):
        """Computes outputs. Blocks; any number of threads may run at a time.

        Args:
            signature: `Signature`.
            tensors: dict from input name to NumPy array. As in the server, the
                shapes in the signature are not enforced.
            outputs: list of output names.

        Returns:
            Dict from output name to NumPy array.

        Raises:
            ServingError: with TensorFlow's code and message.
        """
        names = list(signature.inputs)
        feeds = tuple(signature.inputs[name].tensor for name in names)
        wanted = sorted(outputs)  # whatever their order, it is one callable
        fetches = tuple(signature.outputs[name].tensor for name in wanted)
        with self._use(), _tensorflow_errors():
            values = self._callable(feeds, fetches)(
                *(tensors[name] for name in names)
            )
        found = dict(zip(wanted, map(_as_array, values), strict=True))
        return {name: found[name] for name in outputs}

    def close(self):
        """Frees the memory, once all runs have ended."""
        with self._lock:
            self._closed = True
            self._lock.wait_for(lambda: self._running == 0)
        self._session.close()
        self._callables.clear()
        self._graph = None

    @contextlib.contextmanager
    def _use(self):
        with self._lock:
            if self._closed:
                raise ServingError("UNAVAILABLE", "This version was unloaded.")
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._lock.notify_all()

    def _callable(self, feeds, fetches):
        """A prepared call: cheaper than `Session.run`, and as lenient about
        shapes as the server."""
        key = feeds, fetches
        if key not in self._callables:
            # TensorFlow optimizes the graph, for seconds: others go on.
            with self._preparing:
                if key not in self._callables:
                    make = self._session._make_callable_from_options
                    self._callables[key] = make(
                        config_pb2.CallableOptions(feed=feeds, fetch=fetches)
                    )
        return self._callables[key]


def _read(folder):
    path = folder / "saved_model.pb"
    try:
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except FileNotFoundError:
        raise ServingError(
            "NOT_FOUND", f"Could not find a SavedModel: {path} does not exist."
        ) from None
    except Exception as error:  # protobuf has an error class per version
        raise ServingError(
            "DATA_LOSS", f"{path} is no SavedModel: {error}"
        ) from error
    if not saved.meta_graphs:
        raise ServingError("DATA_LOSS", f"{path} holds no graph.")
    return saved


def graph_operations(saved):
    """Lists the operations in a `SavedModel` message.

    Args:
        saved: `SavedModel` message.

    Returns:
        Set of names. Functions that XLA compiles count as `XlaLaunch`, the
        operation that a server would need for them.
    """
    graph = saved.meta_graphs[0].graph_def
    functions = list(graph.library.function)
    nodes = [*graph.node, *(n for f in functions for n in f.node_def)]
    names = {node.op for node in nodes}
    if any(holder.attr["_XlaMustCompile"].b for holder in [*nodes, *functions]):
        names.add("XlaLaunch")
    return names - {function.signature.name for function in functions}


def _is_registered(name):
    return op_def_registry.get(name) is not None


def _register(operations):
    """Loads TensorFlow Text where an operation is not TensorFlow's own."""
    if all(map(_is_registered, operations)):
        return
    import tensorflow_text  # noqa: F401  (registers its operations)

    missing = sorted(n for n in operations if not _is_registered(n))
    if missing:
        raise ServingError(
            "NOT_FOUND", f"Op type not registered '{', '.join(missing)}'."
        )


def _origins(operations):
    return {name: hasattr(tf.raw_ops, name) for name in operations}


def _session_options():
    options = tf.compat.v1.ConfigProto()
    # As in the server, where XLA is off.
    options.graph_options.optimizer_options.global_jit_level = (
        tf.compat.v1.OptimizerOptions.OFF
    )
    return options


@contextlib.contextmanager
def _tensorflow_errors():
    """Turns TensorFlow's errors into `ServingError`s of the same code."""
    try:
        yield
    except tf.errors.OpError as error:
        names = {number: name for name, number in _CODES.items()}
        code = names.get(error.error_code, "UNKNOWN")
        raise ServingError(code, str(error.message)) from error
    except (OSError, RuntimeError, TypeError, ValueError, KeyError) as error:
        raise ServingError("INTERNAL", str(error)) from error


_CODES = {
    name: getattr(tf.errors, name)
    for name in (
        *("ABORTED", "ALREADY_EXISTS", "CANCELLED", "DATA_LOSS"),
        *("DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL"),
        *("INVALID_ARGUMENT", "NOT_FOUND", "OUT_OF_RANGE"),
        *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED"),
        *("UNAVAILABLE", "UNIMPLEMENTED", "UNKNOWN"),
    )
}


def _as_array(value):
    """A scalar comes back from the session as what it holds."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bytes, str)):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value)
