import hashlib

from keras_albert.training import run_loop
from keras_albert.training.run_folder import RunFolder
from keras_albert.training.run_loop import intervals
from keras_albert.training.run_loop import restore_run
from keras_albert.training.run_loop import take_turns
from keras_albert.training.state_files import STATE_NAME


def test_evaluations_fall_on_multiples_and_on_the_end():
    assert intervals(0, 6, 2) == [(0, 2, 3)]
    assert intervals(3, 10, 4) == [(3, 1, 1), (4, 4, 1), (8, 2, 1)]
    assert intervals(1, 3, 10) == [(1, 2, 1)]
    assert intervals(6, 6, 2) == []


def test_a_dataset_is_not_tuned():
    import tensorflow as tf

    from keras_albert.training.run_loop import untuned

    dataset = untuned(tf.data.Dataset.range(3))

    assert dataset.options().autotune.enabled is False


def test_datasets_take_turns_from_any_step_on():
    import tensorflow as tf

    def taken(step, parts=1):
        endless = [
            tf.data.Dataset.from_tensors([letter] * size).repeat()
            for letter, size in (("a", 2), ("b", 3), ("c", 1))
        ]
        batches = take_turns(endless, step, parts).take(6)
        return b"".join(b[0] for b in batches.as_numpy_iterator()).decode()

    assert taken(0) == "abcabc"
    assert taken(4) == "bcabca"
    assert taken(1, parts=2) == "bbccaa"


def test_records_that_are_damaged_do_not_stop_a_run(tmp_path):
    folder = RunFolder(tmp_path)
    folder.history.write_bytes(b'{"step": 0, "val_loss": 1.5}\n{"step": 4, "v')
    alarm = b'{"step": 0, "kind": "jump", "message": "It rose."}\n'
    folder.alarms.write_bytes(alarm + b"\xe4\x00\x00\x00\n")

    record = restore_run(None, folder)

    assert record.start_step == 0
    assert record.history == [{"step": 0, "val_loss": 1.5}]
    assert [alarm.kind for alarm in record.alarms] == ["jump"]


def test_a_state_that_is_passed_over_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(run_loop, "restore_state", lambda model, path: None)
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    for step in (2, 4, 6):
        state = folder.checkpoints / STATE_NAME.format(step)
        state.write_bytes(b"state")
        proof = hashlib.sha256(b"state").hexdigest()
        state.with_name(f"{state.name}.sha256").write_text(proof)

    def damage(step):
        state = folder.checkpoints / STATE_NAME.format(step)
        state.write_bytes(b"stat")
        record = restore_run(None, folder)
        return record.start_step, [path.name for path in record.damaged]

    assert restore_run(None, folder).damaged == []
    assert damage(2) == (6, [])
    assert damage(6) == (4, ["step-00000006.weights.h5"])
    assert damage(4) == (
        0,
        [STATE_NAME.format(step) for step in (6, 4, 2)],
    )
