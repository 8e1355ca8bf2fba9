"""The strategies of `tf.distribute`, ready for `model.fit`."""

import contextlib
import functools
import os

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import trainer as keras_trainer

from keras_albert.training.distribution import Distribution
from keras_albert.training.distribution import cluster_workers


def open_strategy(name):
    """Returns the `Distribution` of a name; connects workers or TPUs.

    Args:
        name: string. `"auto"`, `"mirrored"`, `"multi_worker"` or `"tpu"`.
    """
    if name == "auto":
        name = _choose()
    if name == "none":
        return Distribution()
    if name == "mirrored":
        strategy = tf.distribute.MirroredStrategy(_local_devices())
        return StrategyDistribution(name, strategy)
    if name == "tpu":
        return _tpu(os.environ.get("TPU_NAME", "local"))
    return _multi_worker()


class StrategyDistribution(Distribution):
    """A strategy in one process.

    Args:
        name: string.
        strategy: `tf.distribute.Strategy`.
    """

    def __init__(self, name, strategy):
        self.name = name
        self.strategy = strategy
        self.num_replicas = strategy.num_replicas_in_sync

    @contextlib.contextmanager
    def scope(self):
        with self.strategy.scope():
            yield


class MultiWorkerDistribution(StrategyDistribution):
    """A strategy over several processes.

    Args:
        strategy: `OwnRowsStrategy`.
    """

    def __init__(self, strategy):
        super().__init__("multi_worker", strategy)
        resolver = strategy.cluster_resolver
        self.num_processes = self.num_workers = len(cluster_workers())
        self.process_index = self.worker_index = _worker_index(resolver)

    @contextlib.contextmanager
    def scope(self):
        # Keras 3.15 cannot bring the logs of several workers together.
        original = keras_trainer.reduce_per_replica
        keras_trainer.reduce_per_replica = functools.partial(
            _reduce_per_replica, original
        )
        try:
            with super().scope():
                yield
        finally:
            keras_trainer.reduce_per_replica = original

    def _is_lost_process(self, error):
        return isinstance(
            error,
            (
                tf.errors.AbortedError,
                tf.errors.CancelledError,
                tf.errors.DeadlineExceededError,
                tf.errors.InternalError,
                tf.errors.UnavailableError,
            ),
        )

    def _gather_all(self, values):
        rows = self._gather(tf.constant(values, tf.int64)).numpy().tolist()
        return rows[:: self.num_replicas // self.num_processes]

    @functools.cached_property
    def _gather(self):
        """A compiled function from numbers to those of all replicas."""

        def own(values):
            index = tf.distribute.get_replica_context().replica_id_in_sync_group
            row = tf.one_hot(index, self.num_replicas, dtype=tf.int64)
            return row[:, tf.newaxis] * values

        def gather(values):
            parts = self.strategy.run(own, args=(values,))
            return self.strategy.reduce("SUM", parts, axis=None)

        numbers = tf.TensorSpec([None], tf.int64)
        return tf.function(gather, [numbers], autograph=False)


class OwnRowsStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """A strategy whose datasets hold this worker's rows of each batch.

    TensorFlow would have every worker make all rows and drop most of them.
    """

    def experimental_distribute_dataset(self, dataset, options=None):
        """Hands the batches of a dataset to this worker's replicas."""
        replicas = len(self.extended.worker_devices)
        if replicas > 1:
            rows = _batch_size(dataset)
            dataset = dataset.rebatch(rows // replicas, drop_remainder=True)
        return self.distribute_datasets_from_function(lambda _: dataset)


def _choose():
    if len(cluster_workers()) > 1:
        return "multi_worker"
    if "TPU_NAME" in os.environ or tf.config.list_physical_devices("TPU"):
        return "tpu"
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return "mirrored"
    return "none"


def _local_devices():
    gpus = tf.config.list_logical_devices("GPU")
    return [d.name for d in gpus or tf.config.list_logical_devices("CPU")]


def _tpu(name):
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise ConnectionError(
            f"No TPU answers under TPU_NAME={name!r}. Run on a TPU VM, with a "
            "TensorFlow that supports it, or take KERAS_BACKEND=jax with "
            f"data_parallel. TensorFlow says: {str(error).splitlines()[0]}"
        ) from error
    distribution = StrategyDistribution("tpu", strategy)
    distribution.has_remote_devices = name.startswith("grpc://") or (
        resolver.master() not in ("", "local")
    )
    return distribution


# TensorFlow allows one connection of a process, before its first operation.
@functools.cache
def _multi_worker():
    if len(cluster_workers()) < 2:
        raise ValueError(
            "multi_worker needs the addresses of at least two workers in "
            f"TF_CONFIG. Received: {os.environ.get('TF_CONFIG')!r}. On one "
            "machine take mirrored; see `keras_albert.training.distribute` "
            "for a line that works."
        )
    try:
        strategy = OwnRowsStrategy()
    except RuntimeError as error:
        raise RuntimeError(
            "TensorFlow connects its workers only before its first operation. "
            "Call `keras_albert.training.distribute('multi_worker')` at the "
            "start of the program."
        ) from error
    return MultiWorkerDistribution(strategy)


def _worker_index(resolver):
    chiefs = len(resolver.cluster_spec().as_dict().get("chief", []))
    is_chief = resolver.task_type == "chief"
    return 0 if is_chief else chiefs + resolver.task_id


def _batch_size(dataset):
    return keras.tree.flatten(dataset.element_spec)[0].shape[0]


def _reduce_per_replica(original, values, strategy, reduction):
    if reduction == "auto":
        reduction = "mean"
    if reduction != "mean":
        return original(values, strategy, reduction)
    return keras.tree.map_structure(
        lambda value: strategy.reduce("MEAN", value, axis=None), values
    )
