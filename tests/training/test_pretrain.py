import io
import json
import os
import signal

import keras
import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress

from keras_albert.training import callbacks
from keras_albert.training.pretrain import pretrain
from keras_albert.training.pretrain_result import load_pretrained

every_backend = pytest.mark.every_backend


@pytest.fixture(scope="module")
def arguments(documents, tokenizer, tiny_config):
    return {
        "corpus": documents,
        "tokenizer": tokenizer,
        "config": tiny_config,
        "steps": 6,
        "batch_size": 8,
        "sequence_length": 16,
        "evaluation_every": 2,
        "held_out_share": 0.1,
        "learning_rate": 0.01,
        "seed": 3,
        # Compiling takes longer than these few steps.
        "jit_compile": keras.backend.backend() == "jax",
    }


@pytest.fixture
def run(tmp_path, arguments):
    def call(**changes):
        return pretrain(**{**arguments, "output": tmp_path / "out", **changes})

    return call


@pytest.fixture(scope="module")
def progress():
    return Progress(disable=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, arguments, progress):
    output = tmp_path_factory.mktemp("finished") / "out"
    return pretrain(**arguments, output=output, progress=progress)


def weights_of(result):
    return load_pretrained(result).get_weights()


@every_backend
def test_it_learns_what_can_be_learned(run):
    result = run(steps=120, evaluation_every=60, learning_rate=0.02)

    first, last = result.history
    assert [first["step"], last["step"]] == [60, 120]
    assert last["masked_lm_loss"] < result.masked_lm_floor - 0.2
    assert last["masked_lm_accuracy"] > result.masked_lm_accuracy_floor + 0.05
    assert last["learning_rate"] < first["learning_rate"]


def test_lamb_learns(run):
    result = run(
        steps=60, evaluation_every=20, optimizer="lamb", learning_rate=0.02
    )

    assert result.history[-1]["loss"] < result.history[0]["loss"] - 0.1


@every_backend
def test_the_folder_holds_model_tokenizer_and_curves(finished, tokenizer):
    folder = finished.preset.parent
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "checkpoints",
        "curves.png",
        "history.csv",
        "history.jsonl",
        "preset",
        "run.json",
        "steps.jsonl",
    }
    model = load_pretrained(folder)
    assert model.preprocessor.tokenizer.fingerprint() == tokenizer.fingerprint()
    assert model.count_params() == finished.num_parameters


def test_a_progress_object_sees_every_step(finished, progress):
    task = progress.tasks[-1]
    assert task.finished
    assert task.completed == task.total == 6
    assert "MLM loss" in task.description
    assert [t.finished for t in progress.tasks] == [True] * 3


class InterruptAt(keras.callbacks.Callback):
    """Presses Ctrl-C in the middle of a step."""

    def __init__(self, step):
        super().__init__()
        self.left = step

    def on_train_batch_begin(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupted_run_continues_to_the_same_end(run, finished):
    with pytest.raises(callbacks.TrainingInterrupted) as stopped:
        run(callbacks=[InterruptAt(3)])
    # A crash may leave records that ran ahead of the last checkpoint.
    path = stopped.value.checkpoint.parent.parent / "history.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({"step": 4, "val_loss": 0.0}) + "\n")

    resumed = run()

    assert stopped.value.step == 3
    assert resumed.resumed_from == 3
    assert [r["step"] for r in resumed.history] == [2, 4, 6]
    for ours, expected in zip(resumed.history, finished.history, strict=True):
        assert ours["val_loss"] == pytest.approx(expected["val_loss"], abs=1e-5)
        assert ours["learning_rate"] == expected["learning_rate"]
    for ours, expected in zip(
        weights_of(resumed), weights_of(finished), strict=True
    ):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_run_with_a_damaged_state_says_where_it_goes_on(run, tmp_path):
    with pytest.raises(callbacks.TrainingInterrupted) as stopped:
        run(callbacks=[InterruptAt(3)])
    stopped.value.checkpoint.write_bytes(b"")
    console = Console(file=io.StringIO(), width=500)

    resumed = run(progress=Progress(console=console))

    assert resumed.resumed_from == 2
    assert [alarm.kind for alarm in resumed.alarms] == ["damaged_state"]
    text = console.file.getvalue()
    assert "step-00000003.weights.h5 is damaged" in text
    assert "goes on from step 2" in text


def test_other_text_under_a_stopped_run_is_refused(run, documents):
    """Which documents are held out would change with their number."""
    with pytest.raises(callbacks.TrainingInterrupted):
        run(callbacks=[InterruptAt(3)])

    with pytest.raises(FileExistsError, match="text has changed"):
        run(corpus=[*documents, ["a b c", "d e f"]])


def test_a_finished_run_is_read_and_not_run_again(finished, arguments):
    folder = finished.preset.parent
    saved = sorted(folder.rglob("*"))
    times = [path.stat().st_mtime_ns for path in saved]

    again = pretrain(**arguments, output=folder)

    assert again.history == finished.history
    assert again.resumed_from == 6
    assert [path.stat().st_mtime_ns for path in saved] == times


def test_the_seed_decides_everything(run, tmp_path):
    keras.utils.set_random_seed(1)
    one = run(steps=2, output=tmp_path / "1")
    keras.utils.set_random_seed(2)
    same = run(steps=2, output=tmp_path / "2")
    other = run(steps=2, output=tmp_path / "3", seed=4)

    assert one.final["val_loss"] == pytest.approx(same.final["val_loss"])
    assert one.final["val_loss"] != pytest.approx(other.final["val_loss"])
    for ours, expected in zip(weights_of(one), weights_of(same), strict=True):
        np.testing.assert_array_equal(ours, expected)


@every_backend
def test_the_first_phase_is_the_run_without_phases(run, tmp_path):
    settings = {"evaluation_every": 3, "warmup_steps": 1}
    alone = run(output=tmp_path / "alone", sequence_length=12, **settings)
    phased = run(phases="12:50%,24:50%", **settings)

    assert phased.history[0]["loss"] == alone.history[0]["loss"]
    assert phased.history[0]["val_loss"] == alone.history[0]["val_loss"]
    assert phased.history[1]["loss"] != alone.history[1]["loss"]


def test_a_shallow_phase_trains_the_same_weights(run, tmp_path, tiny_config):
    """Half the calls at first: the start is the run of a shallower model."""
    settings = {"evaluation_every": 3, "warmup_steps": 1}
    shallow = run(
        output=tmp_path / "shallow",
        config={**tiny_config, "num_layers": 1},
        **settings,
    )
    deepened = run(phases="16@1:50%,16:50%", **settings)

    for name in ("loss", "val_loss"):
        assert deepened.history[0][name] == pytest.approx(
            shallow.history[0][name], abs=1e-5
        )
        assert deepened.history[1][name] != shallow.history[1][name]
    assert load_pretrained(deepened).backbone.num_layers == 2


@pytest.mark.parametrize("phases", ["12:50%,24:50%", "12x2+24:100%"])
def test_a_run_continues_inside_a_phase(run, tmp_path, phases):
    settings = {"phases": phases}
    whole = run(output=tmp_path / "whole", **settings)
    with pytest.raises(callbacks.TrainingInterrupted):
        run(callbacks=[InterruptAt(5)], **settings)
    result = run(**settings)

    assert result.resumed_from == 5
    assert load_pretrained(result).preprocessor.sequence_length == 24
    for a, b in zip(weights_of(whole), weights_of(result), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@every_backend
def test_batches_take_turns(run, tmp_path):
    settings = {"evaluation_every": 1, "warmup_steps": 1, "steps": 2}
    short = run(
        output=tmp_path / "short", sequence_length=12, batch_size=2, **settings
    )
    result = run(phases="12x2+24:100%", **settings)

    assert result.history[0]["loss"] == pytest.approx(
        short.history[0]["loss"], rel=1e-6
    )
    assert result.history[1]["loss"] != short.history[1]["loss"]
    assert load_pretrained(result).preprocessor.sequence_length == 24


def test_the_weight_of_sentence_order_enters_the_loss(run):
    record = run(sentence_order_weight=3.0).final

    expected = (
        record["val_masked_lm_loss"] + 3 * record["val_sentence_order_loss"]
    )
    np.testing.assert_allclose(record["val_loss"], expected, rtol=1e-5)


def test_passes_cut_the_held_out_text_anew(run, tmp_path):
    once = run(output=tmp_path / "once").history[0]
    twice = run(evaluation_passes=2).history[0]

    assert once["loss"] == twice["loss"]
    assert once["val_masked_lm_loss"] != twice["val_masked_lm_loss"]


def test_a_corpus_without_sentence_order_leaves_no_folder(run, tmp_path):
    with pytest.raises(ValueError, match="single sentence"):
        run(corpus=[["a"]] * 20)

    assert not (tmp_path / "out").exists()


def test_alarms_are_kept_over_an_interruption(run, tmp_path):
    """A rate of nearly zero leaves the loss at ln(13)."""
    settings = {"learning_rate": 1e-9, "steps": 130, "evaluation_every": 65}
    with pytest.raises(callbacks.TrainingInterrupted):
        run(callbacks=[InterruptAt(115)], **settings)
    result = run(**settings)

    assert [alarm.kind for alarm in result.alarms] == ["log_vocabulary"]
    assert result.alarms[0].step == 106
    assert (tmp_path / "out" / "alarms.jsonl").is_file()


def test_a_diverging_run_keeps_its_last_good_state(run, tmp_path):
    with pytest.raises(callbacks.TrainingDiverged) as error:
        run(learning_rate=1e38, checkpoint_every=1, warmup_steps=2)

    assert error.value.checkpoint.is_file()
    assert not (tmp_path / "out" / "preset").exists()


def test_checkpoints_keep_the_last_and_the_best(finished):
    losses = {r["step"]: r["val_loss"] for r in finished.history}
    kept = {
        int(path.name.split("-")[1].split(".")[0])
        for path in (finished.preset.parent / "checkpoints").iterdir()
    }
    assert kept == {6, min(losses, key=losses.get)}


def test_files_and_an_evaluation_corpus(run, tmp_path, documents):
    text = "\n\n".join("\n".join(document) for document in documents)
    (tmp_path / "train.txt").write_text(text)
    (tmp_path / "valid.txt").write_text("a b c d\ne f g h\n")

    result = run(
        corpus=[tmp_path / "train.txt"],
        evaluation_corpus=str(tmp_path / "valid.txt"),
    )

    assert result.num_train_documents == len(documents)
    assert result.num_evaluation_documents == 1


def test_evaluation_on_the_training_text_is_told(run, documents):
    result = run(steps=1, evaluation_corpus=documents)

    assert [alarm.kind for alarm in result.alarms] == ["shared_text"]


def test_masked_lm_alone_has_no_sentence_order_to_score(run):
    result = run(objective="none")

    assert np.isfinite(result.final["val_masked_lm_loss"])


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"corpus": [["a b c"]]}, "at least 2 documents"),
        ({"held_out_share": 1.0}, "between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_said_before_any_work(
    run, tmp_path, changes, message
):
    with pytest.raises(ValueError, match=message):
        run(**changes)

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"callbacks": 3}, "list of `keras.callbacks.Callback`"),
        ({"callbacks": InterruptAt(1)}, "list of `keras.callbacks.Callback`"),
        ({"callbacks": ["log"]}, "list of `keras.callbacks.Callback`"),
        ({"output": None}, "`output` must be a path"),
    ],
)
def test_what_is_of_another_kind_is_said_before_any_work(
    run, tmp_path, changes, message
):
    with pytest.raises(TypeError, match=message):
        run(**changes)

    assert not (tmp_path / "out").exists()


def test_numbers_of_numpy_are_the_settings_of_a_run(run, tmp_path):
    plain = {
        "batch_size": 8,
        "steps": 2,
        "sequence_length": 16,
        "evaluation_every": 1,
        "warmup_steps": 1,
        "seed": 3,
    }
    other = {"learning_rate": 0.125, "held_out_share": 0.25}

    result = run(
        **{name: np.int64(value) for name, value in plain.items()},
        **{name: np.float32(value) for name, value in other.items()},
        callbacks=None,
    )

    assert [record["step"] for record in result.history] == [1, 2]
    # The very same run.
    assert run(**{**plain, **other}).resumed_from == 2
    described = json.loads((tmp_path / "out" / "run.json").read_text())
    assert described["seed"] == 3


def test_missing_files_are_named(run):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        run(corpus="nowhere.txt")
