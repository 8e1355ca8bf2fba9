import io

import pytest
from rich.console import Console
from rich.progress import Progress

from keras_albert.training.published_recipe import make_recipe
from keras_albert.training.run_folder import RunFolder
from keras_albert.training.run_loop import RunRecord
from keras_albert.training.run_reports import describe_step
from keras_albert.training.run_reports import report_damage
from keras_albert.training.run_reports import report_shared_text
from keras_albert.training.run_reports import show_recipe
from keras_albert.training.watchdog import read_alarms


def test_the_bar_shows_losses_and_speed():
    record = {
        "masked_lm_loss": 2.346,
        "sentence_order_accuracy": 0.625,
        "tokens_per_second": 5120.4,
    }

    assert (
        describe_step(record)
        == "MLM loss 2.35, SOP accuracy 62%, 5,120 tokens/s"
    )


def test_the_recipe_is_shown_with_its_warnings():
    console = Console(file=io.StringIO(), width=200)

    show_recipe(make_recipe("published", 64, 768), console)

    text = console.file.getvalue()
    assert "√(64/4,096)" in text
    assert "64 is fewer" in text


def test_a_damaged_state_is_told_kept_and_shown(tmp_path):
    console = Console(file=io.StringIO(), width=500)
    folder = RunFolder(tmp_path)
    record = RunRecord(4, [], [], [tmp_path / "step-00000006.weights.h5"])

    report_damage(record, folder, Progress(console=console))

    text = " ".join(console.file.getvalue().split())
    assert "step-00000006.weights.h5 is damaged" in text
    assert "The run goes on from step 4." in text
    assert read_alarms(folder.alarms, step=4) == record.alarms
    assert [alarm.kind for alarm in record.alarms] == ["damaged_state"]


def test_a_run_that_starts_again_says_so(tmp_path):
    record = RunRecord(0, [], [], [tmp_path / "b", tmp_path / "a"])

    report_damage(record, RunFolder(tmp_path))

    message = record.alarms[0].message
    assert f"{tmp_path / 'b'}, {tmp_path / 'a'} are damaged" in message
    assert message.endswith("The run starts again at step 0.")


def test_whole_states_raise_no_alarm(tmp_path):
    record = RunRecord(4, [], [])

    report_damage(record, RunFolder(tmp_path))

    assert not record.alarms
    assert not list(tmp_path.iterdir())


NO_TEXT = dict.fromkeys(
    ["corpus", "evaluation_corpus", "data", "evaluation_data", "text"]
)


@pytest.mark.parametrize(
    "described",
    [
        {"text": ["a1", "a1"]},
        {"corpus": ["a", "b"], "evaluation_corpus": ["b"]},
        {"data": ["a1", "b2"], "evaluation_data": ["a1"]},
    ],
)
def test_evaluation_on_the_training_text_is_told_once(tmp_path, described):
    console = Console(file=io.StringIO(), width=500)
    folder = RunFolder(tmp_path)
    record = RunRecord(0, [], [])

    for _ in range(2):
        report_shared_text(
            {**NO_TEXT, **described}, record, folder, Progress(console=console)
        )

    assert [alarm.kind for alarm in record.alarms] == ["shared_text"]
    assert console.file.getvalue().count("text that it is trained on") == 1
    assert read_alarms(folder.alarms, step=0) == record.alarms


@pytest.mark.parametrize(
    "described",
    [
        {"text": ["a1", "b2"], "corpus": ["a"]},
        {"corpus": ["a"], "evaluation_corpus": ["b"]},
        {"data": ["a1"]},
    ],
)
def test_text_of_its_own_is_no_alarm(tmp_path, described):
    record = RunRecord(0, [], [])

    report_shared_text({**NO_TEXT, **described}, record, RunFolder(tmp_path))

    assert not record.alarms
