"""The records of a run for TensorBoard, beside the JSON lines.

    tensorboard --logdir OUTPUT/tensorboard

Written with TensorFlow alone; the package `tensorboard` is needed only to look
at them.
"""

import shutil
from pathlib import Path

from keras_albert.training.callbacks import StepCallback

_OWN_COLUMNS = ("step", "seconds", "seconds_left")


class TensorBoardLog(StepCallback):
    """Writes the numbers of every step and every evaluation.

    Put it behind `StepLog` and `HistoryRecorder`. What an earlier, killed call
    wrote is written anew from their records, so that no step is there twice.

    Args:
        folder: path. Replaced.
        step_log: `StepLog`.
        history: list of records, one per evaluation.
        steps: list of the step records before `start_step`.
        start_step: int. Defaults to 0.
    """

    def __init__(self, folder, step_log, history, steps=(), start_step=0):
        super().__init__(start_step)
        self.folder = Path(folder)
        self.step_log = step_log
        self.history = history
        self._earlier = steps
        self._writers = None

    def on_train_begin(self, logs=None):
        """Opens the files; once, however many `fit` calls there are."""
        if self._writers is not None:
            return
        import tensorflow as tf

        shutil.rmtree(self.folder, ignore_errors=True)
        self._writers = {
            name: tf.summary.create_file_writer(str(self.folder / name))
            for name in ("train", "held_out")
        }
        for record in self._earlier:
            self._write("train", record)
        for record in self.history:
            self._write_evaluation(record)

    def on_step_end(self, logs):
        """Writes the step."""
        self._write("train", self.step_log.latest)

    def on_epoch_end(self, epoch, logs=None):
        """Writes the evaluation."""
        self._write_evaluation(self.history[-1])
        for writer in self._writers.values():
            writer.flush()

    def close(self):
        """Closes the files, also after a failed `fit`."""
        for writer in (self._writers or {}).values():
            writer.close()

    def _write_evaluation(self, record):
        held_out = {
            name.removeprefix("val_"): value
            for name, value in record.items()
            if name.startswith("val_")
        }
        self._write("held_out", {"step": record["step"], **held_out})

    def _write(self, name, record):
        import tensorflow as tf

        with self._writers[name].as_default(step=record["step"]):
            for tag, value in record.items():
                if tag not in _OWN_COLUMNS:
                    _write_scalar(tf, tag, value)


def _write_scalar(tf, tag, value):
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "scalars"
    metadata.data_class = 1  # DATA_CLASS_SCALAR
    tf.summary.write(tag, tf.constant(value, tf.float32), metadata=metadata)
