import types

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.training.lamb import Lamb
from keras_albert.training.micro_batches import PartialCrossEntropy
from keras_albert.training.run_model import make_run_model


@pytest.fixture
def settings(tiny_config):
    return types.SimpleNamespace(
        backbone={**tiny_config, "vocabulary_size": 13, "hidden_dropout": 0.1},
        optimizer={"name": "lamb", "peak_rate": 0.25, "steps": 10},
        sequence_length=16,
        seed=5,
        sentence_order_weight=0.5,
        jit_compile=False,
        accumulate=1,
    )


def test_the_model_is_drawn_from_the_seed_alone(settings, tokenizer):
    one, two = (make_run_model(settings, tokenizer) for _ in range(2))

    for a, b in zip(one.variables, two.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    assert isinstance(one.optimizer, Lamb)
    assert one.preprocessor.sequence_length == 16
    assert one.preprocessor.tokenizer is tokenizer


def test_parts_of_batches_are_summed_and_updates_counted(settings, tokenizer):
    settings.accumulate = settings.optimizer["accumulate"] = 4

    model = make_run_model(settings, tokenizer)

    assert model.optimizer.gradient_accumulation_steps == 4
    assert float(model.optimizer._learning_rate(39)) == pytest.approx(0.025)
    losses = model._compile_loss._user_loss.values()
    assert all(isinstance(loss, PartialCrossEntropy) for loss in losses)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_step_is_traced_once(settings, tokenizer, monkeypatch, parts):
    if parts > 1:
        settings.accumulate = settings.optimizer["accumulate"] = parts
    traced = []
    model = make_run_model(settings, tokenizer)
    step = AlbertPretrainer.train_step
    monkeypatch.setattr(
        AlbertPretrainer,
        "train_step",
        lambda *arguments: traced.append(1) or step(*arguments),
    )

    x = {
        "token_ids": np.ones((2, 16), "int32"),
        "segment_ids": np.zeros((2, 16), "int32"),
        "padding_mask": np.ones((2, 16), "int32"),
        "mask_positions": np.ones((2, 2), "int32"),
    }
    y = {
        "masked_lm": np.ones((2, 2), "int32"),
        "sentence_order": np.ones((2,), "int32"),
    }
    weights = {key: np.ones(value.shape) for key, value in y.items()}
    model.fit(
        tf.data.Dataset.from_tensors((x, y, weights)).repeat(),
        steps_per_epoch=parts,
        verbose=0,
    )

    assert traced == [1]
