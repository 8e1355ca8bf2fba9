import types

import keras
import numpy as np
import pytest

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
    )


def test_the_model_is_drawn_from_the_seed_alone(settings, tokenizer):
    one, two = (make_run_model(settings, tokenizer) for _ in range(2))

    for a, b in zip(one.variables, two.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    assert isinstance(one.optimizer, keras.optimizers.Lamb)
    assert one.preprocessor.sequence_length == 16
    assert one.preprocessor.tokenizer is tokenizer
