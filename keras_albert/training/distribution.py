"""One name for every way to train on several devices.

    name             backend      engine
    auto             all          whatever the machine and its environment offer
    none             all          one device
    mirrored         tensorflow   `tf.distribute.MirroredStrategy`
    multi_worker     tensorflow   `tf.distribute.MultiWorkerMirroredStrategy`
    tpu              tensorflow   `tf.distribute.TPUStrategy`
    data_parallel    jax          `keras.distribution.DataParallel`
    model_parallel   jax          `keras.distribution.ModelParallel`

Keras on PyTorch trains on one device.
"""

import contextlib
import json
import os
import re

import keras

from keras_albert.training.setting_checks import check_counts

NAMES = (
    "auto",
    "none",
    "mirrored",
    "multi_worker",
    "tpu",
    "data_parallel",
    "model_parallel",
)
_BACKENDS = {
    "mirrored": "tensorflow",
    "multi_worker": "tensorflow",
    "tpu": "tensorflow",
    "data_parallel": "jax",
    "model_parallel": "jax",
}
TORCH = (
    "Keras trains on one device under PyTorch. For several, take "
    "KERAS_BACKEND=jax with data_parallel, or KERAS_BACKEND=tensorflow with "
    "mirrored."
)
# Between two steps in which processes ask each other whether to stop.
AGREEMENT_STEPS = 10
_CAUSE = re.compile("abort|gloo|unavailable|connection|deadline", re.IGNORECASE)
PROCESSES_VARIABLE = "KERAS_DISTRIBUTION_NUM_PROCESSES"


class Distribution:
    """Where a run computes: here, on one device. Base of all others.

    Attributes:
        name: string. One of `NAMES`, never `"auto"`.
        num_replicas: int. Parts that a batch is split into.
        model_shards: int. Devices that share one copy of the model.
        num_workers: int. Processes that make batches, each a part.
        worker_index: int. Which of them this one is.
        num_processes: int. Processes of the run.
        process_index: int. This one.
        has_remote_devices: bool. Whether the devices read files on their own,
            from another machine.
    """

    name = "none"
    num_replicas = 1
    model_shards = 1
    num_workers = 1
    worker_index = 0
    num_processes = 1
    process_index = 0
    has_remote_devices = False

    @property
    def is_chief(self):
        """Whether this process is the one that writes files."""
        return self.process_index == 0

    @contextlib.contextmanager
    def scope(self):
        """Holds while models are made, compiled and trained."""
        yield

    def own_rows(self, dataset):
        """Returns this worker's rows of a dataset of whole batches.

        Args:
            dataset: `tf.data.Dataset` of batches of one size, which
                `num_workers` divides.
        """
        if self.num_workers == 1:
            return dataset
        return dataset.map(self._rows_of_batch)

    def _rows_of_batch(self, *batch):
        def cut(tensor):
            share = tensor.shape[0] // self.num_workers
            start = self.worker_index * share
            return tensor[start : start + share]

        return keras.tree.map_structure(cut, batch)

    def gather(self, value):
        """Returns the integers that all processes pass here, in their order.

        Every process must call it, or the others wait.

        Args:
            value: int.
        """
        return [values[0] for values in self._gather_all([value])]

    def gather_texts(self, text):
        """Returns the texts that all processes pass here, in their order.

        Every process must call it, or the others wait.

        Args:
            text: string.
        """
        content = text.encode()
        lengths = self.gather(len(content))
        longest = max(lengths)
        rows = self._gather_all([*content, *[0] * (longest - len(content))])
        return [
            bytes(row[:length]).decode()
            for row, length in zip(rows, lengths, strict=True)
        ]

    def _gather_all(self, values):
        """Returns the equally long lists of integers of all processes."""
        return [values]

    def agree(self, flag, step=0):
        """Returns whether any process raises a flag, the same in all.

        Asking the others takes a message, so that of a run on several
        processes only every tenth step is answered with true.

        Args:
            flag: bool.
            step: int. The same in all processes. Defaults to `0`.
        """
        if self.num_processes == 1:
            return flag
        return step % AGREEMENT_STEPS == 0 and any(self.gather(int(flag)))

    def whole_weights(self, model):
        """Holds while every process has all weights, as for saving them.

        Args:
            model: `keras.Model`, whose weights may be split over processes.

        Returns:
            Context manager, which every process must enter.
        """
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def watch_processes(self):
        """Holds while all processes compute; says so if one has died.

        Raises:
            ConnectionResetError: in place of what the engine says.
        """
        try:
            yield
        except Exception as error:
            if self.num_processes == 1 or not self._is_lost_process(error):
                raise
            self._leave()
            raise ConnectionResetError(
                "Another process of the run has ended; its own output says "
                "why. Start all of them again with the same commands, which go "
                f"on from the last state. The engine says: {_cause(error)}"
            ) from error

    def _is_lost_process(self, error):
        """Whether the engine means that it reaches another process no more."""
        return False

    def _leave(self):
        """Leaves processes that do not answer, so that this one can end."""

    def __str__(self):
        devices = self.num_replicas * self.model_shards
        if self.num_processes == 1:
            return f"{self.name} on {devices} device(s)"
        return (
            f"{self.name} on {devices} devices of "
            f"{self.num_processes} processes"
        )


def distribute(name="auto", *, model_shards=None):
    """Returns the `Distribution` that a name stands for.

    Models are made, compiled and trained inside its `scope()`. N devices give
    the loss, gradients and weights of one device with the same batch.

    One machine, several GPUs or TPU cores (`auto` finds them, too):

    ```
    KERAS_BACKEND=tensorflow keras-albert pretrain --distribution mirrored …
    KERAS_BACKEND=jax keras-albert pretrain --distribution data_parallel …
    KERAS_BACKEND=tensorflow keras-albert pretrain --distribution tpu …
    ```

    Several machines with TensorFlow, the same line on each but for `index`;
    `--output` and the data must be on a file system that all of them see:

    ```
    TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:5000", "10.0.0.2:5000"]},
                "task": {"type": "worker", "index": 0}}' \\
    KERAS_BACKEND=tensorflow keras-albert pretrain \\
        --distribution multi_worker …
    ```

    Several machines with JAX; on each its own `PROCESS_ID`:

    ```
    KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:5000 \\
    KERAS_DISTRIBUTION_NUM_PROCESSES=2 KERAS_DISTRIBUTION_PROCESS_ID=0 \\
    KERAS_BACKEND=jax keras-albert pretrain --distribution data_parallel …
    ```

    A slice of Cloud TPU VMs: the same line on every worker, no addresses:

    ```
    gcloud compute tpus tpu-vm ssh NAME --worker=all --command=' \\
        KERAS_DISTRIBUTION_NUM_PROCESSES=auto KERAS_BACKEND=jax \\
        keras-albert pretrain --distribution data_parallel …'
    ```

    Of several processes, process 0 writes the run and shows it. Ctrl-C or
    SIGTERM in one saves and stops all. If one is killed, the others end with an
    error as soon as the engine notices: on TensorFlow within a minute. JAX
    notices at once where a connection breaks, else it aborts the others itself
    after 100 seconds. The same commands go on from the last state.

    Args:
        name: string. One of `NAMES`. `"auto"` takes the environment's cluster,
            else all TPU cores or GPUs, else one device. Defaults to `"auto"`.
        model_shards: int. With `"model_parallel"`: devices that share one copy
            of the model. Defaults to the devices of a process.

    Returns:
        `Distribution`. The first call for several processes connects them.

    Raises:
        ValueError: if the name is unknown or does not fit the backend or its
            environment.
        ConnectionError: if a TPU or other processes do not answer.
        RuntimeError: if TensorFlow was used before it could connect workers.

    Example:

    ```python
    distribution = keras_albert.training.distribute("mirrored")
    with distribution.scope():
        model = keras_albert.models.AlbertPretrainer(backbone)
        model.compile()
        model.fit(dataset)
    ```
    """
    check_name(name)
    check_counts(model_shards=model_shards)
    if model_shards is not None and name != "model_parallel":
        raise ValueError(
            "Only with model_parallel do devices share a copy of the model. "
            f"Received: distribution={name!r}, model_shards={model_shards}. "
            "Leave model_shards out, or take model_parallel."
        )
    backend = keras.backend.backend()
    if name == "none" or backend == "torch":
        return Distribution()
    if backend == "tensorflow":
        from keras_albert.training import tensorflow_distribution

        return tensorflow_distribution.open_strategy(name)
    from keras_albert.training import jax_distribution

    return jax_distribution.open_mesh(name, model_shards)


def check_name(name):
    """Raises `ValueError` unless the backend knows this distribution.

    Args:
        name: string.
    """
    if name not in NAMES:
        raise ValueError(
            f"`distribution` must be one of {', '.join(NAMES)}. Received: "
            f"{name!r}."
        )
    backend = keras.backend.backend()
    needed = _BACKENDS.get(name, backend)
    if needed == backend:
        return
    if backend == "torch":
        raise ValueError(f"{TORCH} Received: distribution={name!r}.")
    fitting = [n for n in NAMES if _BACKENDS.get(n, backend) == backend]
    raise ValueError(
        f"distribution={name!r} needs KERAS_BACKEND={needed}; the backend is "
        f"{backend}. Change it, or take one of {', '.join(fitting)}."
    )


def _cause(error):
    """Returns the line of an engine's long error that says what happened."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if _CAUSE.search(line)]
    return (told or lines or [type(error).__name__])[0].strip()


def cluster_workers():
    """Returns the addresses of TensorFlow's workers in `TF_CONFIG`.

    Returns:
        List of strings, empty without a cluster.

    Raises:
        ValueError: if `TF_CONFIG` is no JSON.
    """
    text = os.environ.get("TF_CONFIG", "{}")
    try:
        cluster = json.loads(text).get("cluster", {})
    except (AttributeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"TF_CONFIG is not the JSON of a cluster. Received: {text!r}. See "
            "`keras_albert.training.distribute` for a line that works."
        ) from error
    return [*cluster.get("chief", []), *cluster.get("worker", [])]
