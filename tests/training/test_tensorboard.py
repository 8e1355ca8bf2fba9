import types

import tensorflow as tf

from keras_albert.training.tensorboard import TensorBoardLog


def read_events(folder):
    """Returns `(step, tag, value)` of the scalars in all files."""
    found = []
    for path in sorted(folder.glob("events.*")):
        for raw in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(raw.numpy())
            for value in event.summary.value:
                assert value.metadata.plugin_data.plugin_name in ("scalars", "")
                number = tf.make_ndarray(value.tensor).item()
                found.append((event.step, value.tag, number))
    return found


def test_steps_and_evaluations_are_there_once_after_a_resumed_run(tmp_path):
    folder = tmp_path / "tensorboard"
    steps = types.SimpleNamespace(latest={})
    history = []

    def run(start_step, stop, earlier):
        log = TensorBoardLog(folder, steps, history, earlier, start_step)
        log.set_model(types.SimpleNamespace(optimizer=None))
        log.on_train_begin()
        for step in range(start_step + 1, stop + 1):
            steps.latest = {"step": step, "loss": step / 2, "seconds": 1.0}
            log.on_train_batch_end(0, {})
        history.append({"step": stop, "loss": 9.0, "val_loss": 0.25})
        log.on_epoch_end(0)
        log.on_train_begin()  # the next interval
        log.close()

    run(0, 3, [])
    run(2, 4, [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 1.0}])

    assert read_events(folder / "train") == [
        (step, "loss", step / 2) for step in (1, 2, 3, 4)
    ]
    assert read_events(folder / "held_out") == [
        (3, "loss", 0.25),
        (4, "loss", 0.25),
    ]
