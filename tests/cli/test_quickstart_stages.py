"""The stages one by one; `tests/test_quickstart.py` runs them together."""

import io
import time

import pytest
from rich.console import Console

from keras_albert.cli import quickstart_stages
from keras_albert.cli.demo_text import Reviews


def test_stages_are_numbered_and_timed():
    out = io.StringIO()
    stages = quickstart_stages.Stages(Console(file=out), total=2)

    stages.begin("first")
    time.sleep(0.02)
    stages.begin("second")
    stages.end()

    assert out.getvalue() == "1/2 first\n2/2 second\n"
    assert list(stages.seconds) == ["first", "second"]
    assert stages.seconds["first"] >= 0.02


@pytest.mark.parametrize("name", quickstart_stages.PLANS)
def test_plans_fit_their_model(name):
    plan = quickstart_stages.PLANS[name]

    positions = plan.config.max_sequence_length
    assert max(plan.sequence_length, plan.text_length) <= positions
    assert plan.config.hidden_dim % plan.config.num_heads == 0
    assert plan.config.sharing == "all"


def test_full_plan_takes_all_text():
    plan = quickstart_stages.PLANS["full"]

    assert plan.documents is None
    assert plan.reviews is None


def test_vocabulary_is_trained_once(tmp_path):
    plan = quickstart_stages.Plan(
        **{**vars(quickstart_stages.PLANS["tiny"]), "vocabulary_size": 60}
    )
    documents = [[f"one {i} line", f"two {i} lines"] for i in range(50)]

    first = quickstart_stages.make_tokenizer(documents, plan, tmp_path, seed=0)
    second = quickstart_stages.make_tokenizer([], plan, tmp_path, seed=0)

    assert first.fingerprint() == second.fingerprint()


def test_finished_classifier_is_not_trained_again(tmp_path, monkeypatch):
    (quickstart_stages.classifier_folder(tmp_path, 3) / "preset").mkdir(
        parents=True
    )
    monkeypatch.setattr(quickstart_stages, "load_model", lambda path: path)
    monkeypatch.setattr(
        quickstart_stages, "classify", lambda model, x: (["a", "b", "b"], None)
    )
    test = Reviews(["x", "y", "z"], ["a", "b", "a"])

    accuracy = quickstart_stages.finetune_reviews(
        None, None, test, None, tmp_path, seed=3
    )

    assert accuracy == pytest.approx(2 / 3)
