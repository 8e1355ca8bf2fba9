import types
from pathlib import Path

import keras_albert.training  # noqa: F401

TRAINING = "keras_albert.training"
RESULT = types.SimpleNamespace(
    history=[
        {
            "epoch": 1,
            "loss": 0.5,
            "accuracy": 0.75,
            "val_loss": 0.625,
            "val_accuracy": 0.6875,
        }
    ],
    best_epoch=1,
    validation_accuracy=0.6875,
    majority_accuracy=0.5,
    num_validation=1600,
    notes=["It was trained again."],
    preset=Path("classifier/preset"),
)


def test_defaults_reach_the_library(run_command, replace):
    finetune = replace(TRAINING, "finetune", RESULT)

    result = run_command("finetune", "--model", "m", "--train", "t.tsv")

    assert result.exit_code == 0, result.output
    assert finetune.options.pop("progress") is not None
    assert finetune.options == {
        "model": Path("m"),
        "train": Path("t.tsv"),
        "validation": None,
        "validation_share": 0.1,
        "epochs": 3,
        "batch_size": 32,
        "sequence_length": 128,
        "learning_rate": None,
        "seed": 0,
        "output": Path("classifier"),
    }


def test_output_of_pretrain_is_found(run_command, replace, tmp_path):
    (tmp_path / "preset").mkdir()
    finetune = replace(TRAINING, "finetune", RESULT)

    run_command("finetune", "--model", tmp_path, "--train", "t.tsv")

    assert finetune.options["model"] == tmp_path / "preset"


def test_report_names_score_floor_and_notes(run_command, replace):
    replace(TRAINING, "finetune", RESULT)

    result = run_command("finetune", "--model", "m", "--train", "t.tsv")

    text = result.output.replace("\n", " ")
    for part in ("68.8 %", "50.0 %", "1,600", "trained again", "0.625"):
        assert part in text
