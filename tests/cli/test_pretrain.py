import types
from pathlib import Path

import pytest

import keras_albert.training  # noqa: F401
from keras_albert.cli.pretrain import floor_sentence
from keras_albert.training.callbacks import TrainingInterrupted

TRAINING = "keras_albert.training"
RESULT = types.SimpleNamespace(
    history=[{"step": 10}, {"step": 20}],
    final={
        "val_masked_lm_loss": 6.25,
        "val_sentence_order_accuracy": 0.625,
    },
    masked_lm_floor=7.0,
    num_parameters=1234567,
    num_train_tokens=4321,
    seconds=65,
    preset=Path("run/preset"),
    curves=Path("run/curves.png"),
    is_chief=True,
)
REQUIRED = ("--corpus", "a.txt", "b.txt", "--tokenizer", "spiece.model")


def test_defaults_reach_the_library(run_command, replace):
    pretrain = replace(TRAINING, "pretrain", RESULT)

    result = run_command("pretrain", *REQUIRED)

    assert result.exit_code == 0, result.output
    options = pretrain.options
    assert options.pop("progress") is not None
    assert options == {
        "corpus": ["a.txt", "b.txt"],
        "tokenizer": Path("spiece.model"),
        "data": None,
        "output": Path("pretrained"),
        "steps": None,
        "size": None,
        "config": None,
        "recipe": None,
        "batch_size": 32,
        "accumulate": 1,
        "distribution": "auto",
        "model_shards": None,
        "sequence_length": None,
        "phases": None,
        "optimizer": None,
        "learning_rate": None,
        "warmup_steps": None,
        "clip_norm": 1.0,
        "ema_momentum": None,
        "objective": "sop",
        "sentence_order_weight": 1.0,
        "evaluation_corpus": None,
        "evaluation_data": None,
        "held_out_share": 0.02,
        "evaluation_every": None,
        "evaluation_passes": 1,
        "checkpoint_every": None,
        "dtype": None,
        "unroll": None,
        "remat": None,
        "seed": 0,
        "tensorboard": False,
    }


def test_prepared_folders_reach_the_library(run_command, replace):
    pretrain = replace(TRAINING, "pretrain", RESULT)

    result = run_command(
        *("pretrain", "--data", "short", "long", "--evaluation-data", "held"),
        *("--phases", "128:90%,512:10%", "--evaluation-passes", 3),
    )

    assert result.exit_code == 0, result.output
    assert pretrain.options["data"] == [Path("short"), Path("long")]
    assert pretrain.options["evaluation_data"] == [Path("held")]
    assert pretrain.options["corpus"] is None
    assert pretrain.options["tokenizer"] is None
    assert pretrain.options["phases"] == "128:90%,512:10%"
    assert pretrain.options["evaluation_passes"] == 3


def test_options_reach_the_library(run_command, replace):
    pretrain = replace(TRAINING, "pretrain", RESULT)

    run_command(
        *("pretrain", *REQUIRED, "--size", "albert_base", "--steps", 7),
        *("--optimizer", "lamb", "--dtype", "mixed_bfloat16", "--seed", 3),
        *("--evaluation-corpus", "c.txt", "d.txt", "--objective", "none"),
        *("--recipe", "published", "--accumulate", 4, "--ema-momentum", 0.9),
        *("--clip-norm", 0.5, "--remat", "--loop", "--tensorboard"),
    )

    options = pretrain.options
    assert options["size"] == "albert_base"
    assert options["steps"] == 7
    assert options["optimizer"] == "lamb"
    assert options["dtype"] == "mixed_bfloat16"
    assert options["seed"] == 3
    assert options["evaluation_corpus"] == ["c.txt", "d.txt"]
    assert options["objective"] == "none"
    assert options["recipe"] == "published"
    assert options["accumulate"] == 4
    assert options["ema_momentum"] == 0.9
    assert options["clip_norm"] == 0.5
    assert options["remat"] is True
    assert options["unroll"] is False
    assert options["tensorboard"] is True


def test_report_names_floor_gain_and_files(run_command, replace):
    replace(TRAINING, "pretrain", RESULT)

    text = run_command("pretrain", *REQUIRED).output.replace("\n", " ")

    for part in ("6.250", "7.000", "0.750", "62.5 %", "1,234,567", "preset"):
        assert part in text


def test_a_model_at_its_floor_is_not_praised():
    sentence = floor_sentence(7.0, 7.0)

    assert "gains" not in sentence
    assert "Train it for more steps" in sentence


def test_interruption_says_what_is_kept(run_command, replace):
    replace(TRAINING, "pretrain", TrainingInterrupted(12, "run/step-12"))

    result = run_command("pretrain", *REQUIRED)

    assert result.exit_code == 130
    assert "after step 12" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tokenizer", "x"),
        (*REQUIRED, "--optimizer", "sgd"),
        (*REQUIRED, "--steps", "many"),
    ],
)
def test_wrong_usage_is_code_2(run_command, arguments):
    assert run_command("pretrain", *arguments).exit_code == 2


def test_the_devices_are_chosen_by_name(run_command, replace):
    pretrain = replace(TRAINING, "pretrain", RESULT)

    chosen = ("--distribution", "model_parallel", "--model-shards", "2")
    result = run_command("pretrain", *REQUIRED, *chosen)

    assert result.exit_code == 0, result.output
    assert pretrain.options["distribution"] == "model_parallel"
    assert pretrain.options["model_shards"] == 2


def test_help_has_lines_for_several_machines(run_command):
    output = run_command("pretrain", "--help").output

    for word in (
        'TF_CONFIG=\'{"cluster"',
        "KERAS_DISTRIBUTION_PROCESS_ID=0",
        "KERAS_DISTRIBUTION_NUM_PROCESSES=auto",
    ):
        assert word in output


def test_of_several_processes_one_reports(run_command, replace):
    other = types.SimpleNamespace(**{**vars(RESULT), "is_chief": False})
    replace(TRAINING, "pretrain", other)

    result = run_command("pretrain", *REQUIRED)

    assert result.exit_code == 0, result.output
    assert result.stdout == ""
