import io
import types

import pytest
from rich.console import Console

from keras_albert.cli import quickstart_report


@pytest.fixture
def outcome(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"x" * 1_250_000)
    return types.SimpleNamespace(
        output=tmp_path,
        pretrained=types.SimpleNamespace(
            final={
                "val_masked_lm_loss": 5.25,
                "val_masked_lm_accuracy": 0.21,
                "val_sentence_order_accuracy": 0.61,
            },
            masked_lm_floor=6.75,
            masked_lm_accuracy_floor=0.04,
            num_parameters=1234567,
        ),
        accuracies={0: 0.85, 1: 0.84},
        majority=0.53,
        naive_bayes=0.801,
        served=tmp_path,
        answers=[("好看", "positive", 0.97)],
        seconds={"Read": 61, "Ask": 9},
    )


def test_every_score_stands_beside_its_floor(outcome):
    rows = {row[0]: row[1:] for row in quickstart_report.score_rows(outcome)}

    assert rows["masked words: loss in nats"][:2] == ("5.25", "6.75")
    assert rows["sentence order: right"][:2] == ("61.0 %", "50.0 %")
    assert rows["reviews: right, seed 1"] == (
        "84.0 %",
        "80.1 %",
        "naive Bayes",
    )
    assert rows[""] == ("", "53.0 %", "majority class")


def test_times_have_their_sum(outcome):
    assert quickstart_report.time_rows(outcome)[-1] == ("all", "1 min 10 s")


def test_report_shows_all_parts(outcome):
    out = io.StringIO()

    quickstart_report.report(outcome, Console(file=out, width=120))

    text = out.getvalue()
    for part in ("好看", "97.0 %", "1,234,567", "1.2 MB", "--seeds 5"):
        assert part in text
    assert f"keras-albert predict {outcome.served}" in text
